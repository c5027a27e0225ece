/// Expressions and the times that they give, with the source of each.
///
/// A series is a line `EXPRESSION | ZONE | SOURCE` and indented lines with times. Each time is the next one after the
/// time before it; the first is where the series starts. The sources are the manual pages crontab(5) and cron(8) of
/// Debian, the page of POSIX about crontab, the tests of croniter 7 (https://pypi.org/project/croniter), and times
/// computed by hand.
enum CronTable {
  static let text = """
    # The examples of crontab(5), and what it says about fields.
    5 0 * * * | UTC | crontab(5)
      2026-03-01T00:00Z > 2026-03-01T00:05Z
    5 0 * * * | UTC | crontab(5)
      2026-03-01T00:05Z > 2026-03-02T00:05Z
    15 14 1 * * | UTC | crontab(5)
      2026-02-01T14:15Z > 2026-03-01T14:15Z > 2026-04-01T14:15Z
    0 22 * * 1-5 | UTC | crontab(5)
      2026-02-27T21:59:59Z > 2026-02-27T22:00Z > 2026-03-02T22:00Z > 2026-03-03T22:00Z
    23 0-23/2 * * * | UTC | crontab(5)
      2026-03-01T20:00Z > 2026-03-01T20:23Z > 2026-03-01T22:23Z > 2026-03-02T00:23Z
    5 4 * * sun | UTC | crontab(5)
      2026-02-28T04:05Z > 2026-03-01T04:05Z > 2026-03-08T04:05Z
    33 22 * * * | UTC | crontab(5)
      2026-02-28T23:00Z > 2026-03-01T22:33Z
    30 4 1,15 * 5 | UTC | crontab(5): either field
      2026-05-01T04:30Z > 2026-05-08T04:30Z > 2026-05-15T04:30Z > 2026-05-22T04:30Z > 2026-05-29T04:30Z >
      2026-06-01T04:30Z
    0 8-11 * * * | UTC | crontab(5): ranges
      2026-03-01T07:00Z > 2026-03-01T08:00Z > 2026-03-01T09:00Z > 2026-03-01T10:00Z > 2026-03-01T11:00Z >
      2026-03-02T08:00Z
    0 0 1,2,5,9 * * | UTC | crontab(5): lists
      2026-03-01T12:00Z > 2026-03-02T00:00Z > 2026-03-05T00:00Z > 2026-03-09T00:00Z > 2026-04-01T00:00Z
    0 0-4,8-12 * * * | UTC | crontab(5): lists of ranges
      2026-03-01T03:30Z > 2026-03-01T04:00Z > 2026-03-01T08:00Z
    0 */2 * * * | UTC | crontab(5): steps
      2026-03-01T21:00Z > 2026-03-01T22:00Z > 2026-03-02T00:00Z
    0 1-9/2 * * * | UTC | crontab(5): steps
      2026-03-01T06:00Z > 2026-03-01T07:00Z > 2026-03-01T09:00Z > 2026-03-02T01:00Z
    0 0 * * 0 | UTC | crontab(5): Sunday
      2026-03-01T00:00Z > 2026-03-08T00:00Z
    0 0 * * 7 | UTC | crontab(5): Sunday
      2026-03-01T00:00Z > 2026-03-08T00:00Z
    0 0 * JaN MOn | UTC | crontab(5): case
      2026-03-01T00:00Z > 2027-01-04T00:00Z > 2027-01-11T00:00Z
    0 0 8-14 * * | UTC | crontab(5): ranges
      2026-03-10T00:00Z > 2026-03-11T00:00Z > 2026-03-12T00:00Z > 2026-03-13T00:00Z > 2026-03-14T00:00Z >
      2026-04-08T00:00Z
    # The examples of POSIX, crontab.
    15 3 * * 1-5 | UTC | POSIX
      2026-03-06T03:15Z > 2026-03-09T03:15Z > 2026-03-10T03:15Z
    0 12 14 2 * | UTC | POSIX
      2026-02-14T12:00Z > 2027-02-14T12:00Z > 2028-02-14T12:00Z
    0 0 1,15 * 1 | UTC | POSIX
      2026-03-01T00:00Z > 2026-03-02T00:00Z > 2026-03-09T00:00Z > 2026-03-15T00:00Z > 2026-03-16T00:00Z
    0 0 * * 1 | UTC | POSIX
      2026-03-01T00:00Z > 2026-03-02T00:00Z > 2026-03-09T00:00Z
    # The tests of croniter, by their names.
    */1 * * * * | UTC | croniter, test_minute
      2010-01-23T12:18Z > 2010-01-23T12:19Z
    */5 * * * * | UTC | croniter, test_minute
      2010-01-23T12:58Z > 2010-01-23T13:00Z > 2010-01-23T13:05Z
    0 */3 * * * | UTC | croniter, test_hour
      2010-01-24T12:02Z > 2010-01-24T15:00Z > 2010-01-24T18:00Z > 2010-01-24T21:00Z > 2010-01-25T00:00Z >
      2010-01-25T03:00Z
    0 0 */3 * * | UTC | croniter, test_day
      2010-02-24T12:09Z > 2010-02-25T00:00Z > 2010-02-28T00:00Z > 2010-03-01T00:00Z
    0 0 * * * | UTC | croniter, test_day
      1996-02-27T00:00Z > 1996-02-28T00:00Z > 1996-02-29T00:00Z > 1996-03-01T00:00Z
    0 0 * * * | UTC | croniter, test_day
      2000-02-27T00:00Z > 2000-02-28T00:00Z > 2000-02-29T00:00Z
    * * 29 2 * | UTC | croniter, test_day2
      2020-02-29T23:58Z > 2020-02-29T23:59Z > 2024-02-29T00:00Z
    0 0 * * sat | UTC | croniter, test_weekday
      2010-02-25T00:00Z > 2010-02-27T00:00Z > 2010-03-06T00:00Z
    0 0 1 * wed | UTC | croniter, test_weekday
      2010-01-25T00:00Z > 2010-01-27T00:00Z > 2010-02-01T00:00Z > 2010-02-03T00:00Z
    0 0 * * sat#1 | UTC | croniter, test_nth_weekday
      2010-02-25T00:00Z > 2010-03-06T00:00Z > 2010-04-03T00:00Z
    0 0 * * wed#5 | UTC | croniter, test_nth_weekday
      2010-01-25T00:00Z > 2010-03-31T00:00Z > 2010-06-30T00:00Z > 2010-09-29T00:00Z
    0 0 31 2 0 | UTC | croniter, test_weekday_day_or
      2026-01-01T00:00Z > 2026-02-01T00:00Z > 2026-02-08T00:00Z > 2026-02-15T00:00Z
    0 0 31 4 0 | UTC | croniter, test_weekday_day_or
      2026-01-01T00:00Z > 2026-04-05T00:00Z > 2026-04-12T00:00Z
    0 16 */2 * sat | UTC | croniter, test_dom_dow_vixie_cron_bug
      2023-05-02T00:00Z > 2023-05-03T16:00Z > 2023-05-05T16:00Z > 2023-05-06T16:00Z > 2023-05-07T16:00Z
    0 0 1 * * | UTC | croniter, test_month
      2010-01-25T00:00Z > 2010-02-01T00:00Z > 2010-03-01T00:00Z
    0 0 l * * | UTC | croniter, test_last_day_of_month
      2015-09-04T00:00Z > 2015-09-30T00:00Z > 2015-10-31T00:00Z > 2015-11-30T00:00Z > 2015-12-31T00:00Z
    0 0 l * * | UTC | croniter, test_last_day_of_month
      2020-02-01T00:00Z > 2020-02-29T00:00Z > 2020-03-31T00:00Z
    0 0 L * * | UTC | croniter, test_last_day_of_month
      2100-02-01T00:00Z > 2100-02-28T00:00Z > 2100-03-31T00:00Z
    59/15 * * * * | UTC | croniter, test_step_from_field_max
      2026-03-01T00:00Z > 2026-03-01T00:59Z > 2026-03-01T01:59Z
    0 23/6 * * * | UTC | croniter, test_step_from_field_max
      2026-03-01T00:00Z > 2026-03-01T23:00Z > 2026-03-02T23:00Z
    0 0 31/5 * * | UTC | croniter, test_step_from_field_max
      2026-03-01T00:00Z > 2026-03-31T00:00Z > 2026-05-31T00:00Z
    0 0 1 DEC/3 * | UTC | croniter, test_step_from_field_max
      2026-03-01T00:00Z > 2026-12-01T00:00Z > 2027-12-01T00:00Z
    0 0 * * SAT/2 | UTC | croniter, test_step_from_field_max
      2026-03-01T00:00Z > 2026-03-07T00:00Z > 2026-03-14T00:00Z
    44/15 * * * * | UTC | croniter, test_step_from_field_max
      2026-03-01T00:00Z > 2026-03-01T00:44Z > 2026-03-01T00:59Z > 2026-03-01T01:44Z
    5/15 * * * * | UTC | croniter, test_step_from_field_max
      2026-03-01T00:00Z > 2026-03-01T00:05Z > 2026-03-01T00:20Z > 2026-03-01T00:35Z > 2026-03-01T00:50Z >
      2026-03-01T01:05Z
    0 0 * * 7/2 | UTC | croniter, test_step_from_field_max
      2026-03-01T00:00Z > 2026-03-03T00:00Z > 2026-03-05T00:00Z > 2026-03-07T00:00Z > 2026-03-08T00:00Z
    0 5,5,1-6 * * * | UTC | croniter, test_block_dup_ranges
      2026-03-01T05:00Z > 2026-03-01T06:00Z > 2026-03-02T01:00Z
    0 0 * * 2-3,4-5,3,3,3 | UTC | croniter, test_block_dup_ranges
      2026-03-01T00:00Z > 2026-03-03T00:00Z > 2026-03-04T00:00Z > 2026-03-05T00:00Z > 2026-03-06T00:00Z >
      2026-03-10T00:00Z
    59 23 * 1 wed,fri,mon-thu,tue,tue | UTC | croniter, test_block_dup_ranges
      2026-01-02T00:00Z > 2026-01-02T23:59Z > 2026-01-05T23:59Z
    0 0 1 3,6,9,12 * | UTC | croniter, test_multiple_months
      2016-03-01T00:00Z > 2016-06-01T00:00Z
    0 0 1 3,6,9,12 * | UTC | croniter, test_multiple_months
      2016-02-15T00:00Z > 2016-03-01T00:00Z
    0 0 1 3,6,9,12 * | UTC | croniter, test_multiple_months
      2016-12-03T10:00Z > 2017-03-01T00:00Z
    0 0 * * Wed-Sun | UTC | croniter, test_issue_monsun_117
      2019-01-14T00:00Z > 2019-01-16T00:00Z > 2019-01-17T00:00Z > 2019-01-18T00:00Z > 2019-01-19T00:00Z >
      2019-01-20T00:00Z > 2019-01-23T00:00Z > 2019-01-24T00:00Z
    0 0 * * Sat-Sun | UTC | croniter, test_sunday_ranges_to
      2019-01-14T00:00Z > 2019-01-19T00:00Z > 2019-01-20T00:00Z > 2019-01-26T00:00Z
    0 0 * * Mon-Sun | UTC | croniter, test_sunday_ranges_to
      2019-01-18T00:00Z > 2019-01-19T00:00Z > 2019-01-20T00:00Z > 2019-01-21T00:00Z
    1 1 7,14,21,L * * | UTC | croniter, test_mixdow
      2018-10-15T00:00Z > 2018-10-21T01:01Z > 2018-10-31T01:01Z > 2018-11-07T01:01Z
    0 0 10 * fri | UTC | croniter, test_match
      2020-06-08T00:00Z > 2020-06-10T00:00Z > 2020-06-12T00:00Z
    0 0 * * L5 | UTC | croniter, test_lwom_friday
      1987-01-15T00:00Z > 1987-01-30T00:00Z > 1987-02-27T00:00Z > 1987-03-27T00:00Z > 1987-04-24T00:00Z >
      1987-05-29T00:00Z > 1987-06-26T00:00Z > 1987-07-31T00:00Z
    0,30 1,5 * * L5 | UTC | croniter, test_lwom_friday_2xh_2xm
      1987-01-15T00:00Z > 1987-01-30T01:00Z > 1987-01-30T01:30Z > 1987-01-30T05:00Z > 1987-01-30T05:30Z >
      1987-02-27T01:00Z
    0 0 * * L2,L4 | UTC | croniter, test_lwom_tue_thu
      2016-06-01T00:00Z > 2016-06-28T00:00Z > 2016-06-30T00:00Z > 2016-07-26T00:00Z > 2016-07-28T00:00Z >
      2016-08-25T00:00Z > 2016-08-30T00:00Z
    0 0 * * L6,6#1 | UTC | croniter, test_lwom_mixup_firstlast_sat
      2021-03-01T00:00Z > 2021-03-06T00:00Z > 2021-03-27T00:00Z > 2021-04-03T00:00Z > 2021-04-24T00:00Z
    0 0 * * 1#4,L1 | UTC | croniter, test_lwom_mixup_4th_and_last
      2021-11-01T00:00Z > 2021-11-22T00:00Z > 2021-11-29T00:00Z > 2021-12-27T00:00Z > 2022-01-24T00:00Z >
      2022-01-31T00:00Z
    * * * * *,0 | UTC | croniter, test_issue156
      2019-01-14T11:00:59Z > 2019-01-14T11:01Z
    * * * * * | UTC | croniter, test_issue_2038y
      2040-01-01T00:00Z > 2040-01-01T00:01Z
    0 0 * * * | Europe/Warsaw | croniter, test_std_dst
      2017-03-26T00:00+01:00 > 2017-03-27T00:00+02:00
    0 * * * * | Europe/Warsaw | croniter, test_std_dst
      2017-03-26T01:00+01:00 > 2017-03-26T03:00+02:00
    0 0 * * * | Europe/Warsaw | croniter, test_std_dst
      2017-10-29T00:00+02:00 > 2017-10-30T00:00+01:00
    0 * * * * | Europe/Warsaw | croniter, test_std_dst
      2017-10-29T01:59+02:00 > 2017-10-29T02:00+02:00 > 2017-10-29T02:00+01:00 > 2017-10-29T03:00+01:00 >
      2017-10-29T04:00+01:00
    7 0 * * * | Europe/London | croniter, test_dst_daily
      2025-03-30T00:00+00:00 > 2025-03-30T00:07+00:00 > 2025-03-31T00:07+01:00 > 2025-04-01T00:07+01:00
    7 * * * * | Europe/London | croniter, test_dst_hourly
      2025-03-30T00:00+00:00 > 2025-03-30T00:07+00:00 > 2025-03-30T02:07+01:00 > 2025-03-30T03:07+01:00
    1 2 * * * | Europe/Paris | croniter, test_dst_issue90_st31ny
      2020-03-29T01:59:55+01:00 > 2020-03-29T03:00+02:00 > 2020-03-30T02:01+02:00 > 2020-03-31T02:01+02:00
    0 0 * * * | Asia/Hebron | croniter, test_dst_iter
      2022-03-25T00:00+02:00 > 2022-03-26T00:00+02:00 > 2022-03-27T01:00+03:00 > 2022-03-28T00:00+03:00
    # Macros, and days that are hard to reach.
    @hourly | UTC | crontab(5)
      2026-03-01T00:00Z > 2026-03-01T01:00Z
    @daily | UTC | crontab(5)
      2026-03-01T00:00Z > 2026-03-02T00:00Z
    @midnight | UTC | crontab(5)
      2026-03-01T00:00Z > 2026-03-02T00:00Z
    @weekly | UTC | crontab(5)
      2026-03-01T00:00Z > 2026-03-08T00:00Z
    @monthly | UTC | crontab(5)
      2026-03-01T00:00Z > 2026-04-01T00:00Z
    @yearly | UTC | crontab(5)
      2026-03-01T00:00Z > 2027-01-01T00:00Z
    @Annually | UTC | crontab(5)
      2026-03-01T00:00Z > 2027-01-01T00:00Z
    0 0 29 2 * | UTC | by hand: 2100 is not a leap year
      2096-02-29T00:00Z > 2104-02-29T00:00Z
    0 0 29 2 * | UTC | by hand: 2000 is a leap year
      1996-03-01T00:00Z > 2000-02-29T00:00Z
    0 0 * 2 5#5 | UTC | by hand: 29 February 2036 is a Friday
      2008-03-01T00:00Z > 2036-02-29T00:00Z
    0 0 31 * * | UTC | by hand: short months
      2026-03-31T00:00Z > 2026-05-31T00:00Z > 2026-07-31T00:00Z > 2026-08-31T00:00Z
    59 23 31 12 * | UTC | by hand
      2026-12-31T23:59Z > 2027-12-31T23:59Z
    0 0 1 1 * | UTC | by hand
      1969-12-31T23:59:59Z > 1970-01-01T00:00Z
    30 6 1 1 * | UTC | by hand: before 1970
      1968-06-01T00:00Z > 1969-01-01T06:30Z > 1970-01-01T06:30Z
    0 0 * * 5-7 | UTC | by hand: 7 in a range
      2026-03-02T00:00Z > 2026-03-06T00:00Z > 2026-03-07T00:00Z > 2026-03-08T00:00Z > 2026-03-13T00:00Z
    0 0 13 * 5 | UTC | by hand: either field
      2026-03-07T00:00Z > 2026-03-13T00:00Z > 2026-03-20T00:00Z > 2026-03-27T00:00Z
    0 0 */10 * * | UTC | by hand
      2026-03-01T00:00Z > 2026-03-11T00:00Z > 2026-03-21T00:00Z > 2026-03-31T00:00Z > 2026-04-01T00:00Z >
      2026-04-11T00:00Z
    0 0 1-31 * */2 | UTC | croniter: every day is no restriction
      2026-03-01T00:00Z > 2026-03-03T00:00Z > 2026-03-05T00:00Z > 2026-03-07T00:00Z
    0 0 1-31 * 2 | UTC | crontab(5): either field
      2026-03-01T00:00Z > 2026-03-02T00:00Z > 2026-03-03T00:00Z
    10-50/10 * * * * | UTC | by hand
      2026-03-01T00:45Z > 2026-03-01T00:50Z > 2026-03-01T01:10Z
    0 12 * * MON#1 | UTC | by hand
      2026-03-01T00:00Z > 2026-03-02T12:00Z > 2026-04-06T12:00Z
    0 0 L 2 * | UTC | by hand
      2026-03-01T00:00Z > 2027-02-28T00:00Z > 2028-02-29T00:00Z
    */7 * * * * | UTC | by hand
      2026-03-01T00:50Z > 2026-03-01T00:56Z > 2026-03-01T01:00Z > 2026-03-01T01:07Z
    0 0 L * 1 | UTC | by hand: either field
      2026-03-24T00:00Z > 2026-03-30T00:00Z > 2026-03-31T00:00Z > 2026-04-06T00:00Z
      0   0 1   * *  | UTC | crontab(5): spaces
      2026-03-02T00:00Z > 2026-04-01T00:00Z
    # Summer time begins: Berlin skips 02:00 to 03:00 on 2026-03-29.
    30 2 * * * | Europe/Berlin | cron(8): run soon after the change
      2026-03-28T02:00+01:00 > 2026-03-28T02:30+01:00 > 2026-03-29T03:00+02:00 > 2026-03-30T02:30+02:00
    0,15,30,45 2 * * * | Europe/Berlin | by hand: several skipped, one instant
      2026-03-29T01:00+01:00 > 2026-03-29T03:00+02:00 > 2026-03-30T02:00+02:00
    */5 2 * * * | Europe/Berlin | by hand
      2026-03-29T01:00+01:00 > 2026-03-29T03:00+02:00 > 2026-03-30T02:00+02:00
    0 3 * * * | Europe/Berlin | by hand: not skipped
      2026-03-29T01:00+01:00 > 2026-03-29T03:00+02:00 > 2026-03-30T03:00+02:00
    30 1,2,3 * * * | Europe/Berlin | by hand
      2026-03-29T01:00+01:00 > 2026-03-29T01:30+01:00 > 2026-03-29T03:00+02:00 > 2026-03-29T03:30+02:00 >
      2026-03-30T01:30+02:00
    0 * * * * | Europe/Berlin | by hand: real time
      2026-03-29T00:30+01:00 > 2026-03-29T01:00+01:00 > 2026-03-29T03:00+02:00 > 2026-03-29T04:00+02:00 >
      2026-03-29T05:00+02:00
    */30 * * * * | Europe/Berlin | by hand: real time
      2026-03-29T01:15+01:00 > 2026-03-29T01:30+01:00 > 2026-03-29T03:00+02:00 > 2026-03-29T03:30+02:00
    30 2 29 3 * | Europe/Berlin | by hand
      2026-03-28T12:00+01:00 > 2026-03-29T03:00+02:00
    30 2 * * 0 | Europe/Berlin | by hand
      2026-03-28T12:00+01:00 > 2026-03-29T03:00+02:00 > 2026-04-05T02:30+02:00
    0 0 * * * | Europe/Berlin | by hand
      2026-03-28T12:00+01:00 > 2026-03-29T00:00+01:00 > 2026-03-30T00:00+02:00 > 2026-03-31T00:00+02:00
    # Summer time ends: Berlin has 02:00 to 03:00 twice on 2026-10-25.
    30 2 * * * | Europe/Berlin | cron(8): not re-run
      2026-10-24T12:00+02:00 > 2026-10-25T02:30+02:00 > 2026-10-26T02:30+01:00
    30 2 * * * | Europe/Berlin | by hand: after the second 02:30
      2026-10-25T02:30+01:00 > 2026-10-26T02:30+01:00
    30 2 * * * | Europe/Berlin | by hand: between both
      2026-10-25T02:15+01:00 > 2026-10-26T02:30+01:00
    0 3 * * * | Europe/Berlin | by hand
      2026-10-25T02:15+02:00 > 2026-10-25T03:00+01:00
    0 * * * * | Europe/Berlin | by hand: real time
      2026-10-25T01:30+02:00 > 2026-10-25T02:00+02:00 > 2026-10-25T02:00+01:00 > 2026-10-25T03:00+01:00 >
      2026-10-25T04:00+01:00
    */30 * * * * | Europe/Berlin | by hand: real time
      2026-10-25T02:15+02:00 > 2026-10-25T02:30+02:00 > 2026-10-25T02:00+01:00 > 2026-10-25T02:30+01:00 >
      2026-10-25T03:00+01:00 > 2026-10-25T03:30+01:00
    */20 2 * * * | Europe/Berlin | by hand
      2026-10-25T01:30+02:00 > 2026-10-25T02:00+02:00 > 2026-10-25T02:20+02:00 > 2026-10-25T02:40+02:00 >
      2026-10-26T02:00+01:00
    30 * 25 10 * | Europe/Berlin | by hand
      2026-10-25T01:45+02:00 > 2026-10-25T02:30+02:00 > 2026-10-25T02:30+01:00 > 2026-10-25T03:30+01:00
    # New York skips 02:00 to 03:00 on 2026-03-08, and has 01:00 to 02:00 twice on 2026-11-01.
    30 2 * * * | America/New_York | by hand
      2026-03-07T12:00-05:00 > 2026-03-08T03:00-04:00 > 2026-03-09T02:30-04:00
    0 2 * * * | America/New_York | by hand
      2026-03-07T12:00-05:00 > 2026-03-08T03:00-04:00 > 2026-03-09T02:00-04:00
    0 * * * * | America/New_York | by hand
      2026-03-08T00:30-05:00 > 2026-03-08T01:00-05:00 > 2026-03-08T03:00-04:00 > 2026-03-08T04:00-04:00
    30 1 * * * | America/New_York | by hand
      2026-10-31T12:00-04:00 > 2026-11-01T01:30-04:00 > 2026-11-02T01:30-05:00
    0 2 * * * | America/New_York | by hand
      2026-10-31T12:00-04:00 > 2026-11-01T02:00-05:00 > 2026-11-02T02:00-05:00
    0 * * * * | America/New_York | by hand
      2026-11-01T00:30-04:00 > 2026-11-01T01:00-04:00 > 2026-11-01T01:00-05:00 > 2026-11-01T02:00-05:00 >
      2026-11-01T03:00-05:00
    0 1 * * * | America/New_York | by hand
      2026-11-01T01:00-05:00 > 2026-11-02T01:00-05:00
    # Lord Howe skips 02:00 to 02:30 on 2026-10-04, and has 01:30 to 02:00 twice on 2026-04-05.
    15 2 * * * | Australia/Lord_Howe | by hand: half an hour
      2026-10-03T12:00+10:30 > 2026-10-04T02:30+11:00 > 2026-10-05T02:15+11:00
    30 2 * * * | Australia/Lord_Howe | by hand
      2026-10-03T12:00+10:30 > 2026-10-04T02:30+11:00 > 2026-10-05T02:30+11:00
    0,15,30 2 * * * | Australia/Lord_Howe | by hand: one instant
      2026-10-03T12:00+10:30 > 2026-10-04T02:30+11:00 > 2026-10-05T02:00+11:00
    0 * * * * | Australia/Lord_Howe | by hand
      2026-10-04T00:30+10:30 > 2026-10-04T01:00+10:30 > 2026-10-04T03:00+11:00 > 2026-10-04T04:00+11:00
    */15 * * * * | Australia/Lord_Howe | by hand
      2026-10-04T01:40+10:30 > 2026-10-04T01:45+10:30 > 2026-10-04T02:30+11:00 > 2026-10-04T02:45+11:00
    45 1 * * * | Australia/Lord_Howe | by hand
      2026-04-04T12:00+11:00 > 2026-04-05T01:45+11:00 > 2026-04-06T01:45+10:30
    0 2 * * * | Australia/Lord_Howe | by hand: 02:00 comes once
      2026-04-04T12:00+11:00 > 2026-04-05T02:00+10:30 > 2026-04-06T02:00+10:30
    0 * * * * | Australia/Lord_Howe | by hand
      2026-04-05T00:30+11:00 > 2026-04-05T01:00+11:00 > 2026-04-05T02:00+10:30 > 2026-04-05T03:00+10:30
    30 * * * * | Australia/Lord_Howe | by hand
      2026-04-05T01:00+11:00 > 2026-04-05T01:30+11:00 > 2026-04-05T01:30+10:30 > 2026-04-05T02:30+10:30
    # Sao Paulo skipped midnight on 2018-11-04, and had 23:00 to 24:00 of 2018-02-17 twice.
    0 0 * * * | America/Sao_Paulo | by hand: no midnight
      2018-11-03T12:00-03:00 > 2018-11-04T01:00-02:00 > 2018-11-05T00:00-02:00
    30 0 4 11 * | America/Sao_Paulo | by hand
      2018-11-03T12:00-03:00 > 2018-11-04T01:00-02:00
    0 * * * * | America/Sao_Paulo | by hand
      2018-11-03T22:30-03:00 > 2018-11-03T23:00-03:00 > 2018-11-04T01:00-02:00 > 2018-11-04T02:00-02:00
    30 23 * * * | America/Sao_Paulo | by hand
      2018-02-17T12:00-02:00 > 2018-02-17T23:30-02:00 > 2018-02-18T23:30-03:00
    0 0 * * * | America/Sao_Paulo | by hand
      2018-02-17T12:00-02:00 > 2018-02-18T00:00-03:00 > 2018-02-19T00:00-03:00
    0 * * * * | America/Sao_Paulo | by hand
      2018-02-17T22:30-02:00 > 2018-02-17T23:00-02:00 > 2018-02-17T23:00-03:00 > 2018-02-18T00:00-03:00
    30 * 17 2 * | America/Sao_Paulo | by hand: the second hour of that date
      2018-02-17T22:45-02:00 > 2018-02-17T23:30-02:00 > 2018-02-17T23:30-03:00
    # Beirut skipped midnight on 2025-03-30. Cairo skipped midnight on 2025-04-25, and had 23:00 of 2025-10-30 twice.
    0 0 * * * | Asia/Beirut | by hand
      2025-03-29T12:00+02:00 > 2025-03-30T01:00+03:00 > 2025-03-31T00:00+03:00
    15 0 * * * | Asia/Beirut | by hand
      2025-03-29T12:00+02:00 > 2025-03-30T01:00+03:00 > 2025-03-31T00:15+03:00
    0 0 * * 5 | Africa/Cairo | by hand
      2025-04-24T12:00+02:00 > 2025-04-25T01:00+03:00 > 2025-05-02T00:00+03:00
    30 23 * * * | Africa/Cairo | by hand
      2025-10-30T12:00+03:00 > 2025-10-30T23:30+03:00 > 2025-10-31T23:30+02:00
    0 * * * * | Africa/Cairo | by hand
      2025-10-30T22:30+03:00 > 2025-10-30T23:00+03:00 > 2025-10-30T23:00+02:00 > 2025-10-31T00:00+02:00
    # Apia had no 2011-12-30. Kwajalein had no 1993-08-21.
    0 9 * * * | Pacific/Apia | by hand: a whole day
      2011-12-29T08:00-10:00 > 2011-12-29T09:00-10:00 > 2011-12-31T00:00+14:00 > 2011-12-31T09:00+14:00
    0 9 30 12 * | Pacific/Apia | by hand
      2011-12-29T08:00-10:00 > 2011-12-31T00:00+14:00
    0 0 31 12 * | Pacific/Apia | by hand: the same instant
      2011-12-29T08:00-10:00 > 2011-12-31T00:00+14:00
    0 * * * * | Pacific/Apia | by hand
      2011-12-29T22:30-10:00 > 2011-12-29T23:00-10:00 > 2011-12-31T00:00+14:00 > 2011-12-31T01:00+14:00
    0 12 * * 5 | Pacific/Apia | by hand: 30 was a Friday
      2011-12-28T08:00-10:00 > 2011-12-31T00:00+14:00 > 2012-01-06T12:00+14:00
    0 6 * * * | Pacific/Kwajalein | by hand
      1993-08-20T00:00-12:00 > 1993-08-20T06:00-12:00 > 1993-08-22T00:00+12:00 > 1993-08-22T06:00+12:00
    # Dublin has negative summer time. Kiritimati is at +14:00, Baker Island at -12:00, Kathmandu at +05:45.
    30 1 * * * | Europe/Dublin | by hand
      2026-03-28T12:00+00:00 > 2026-03-29T02:00+01:00 > 2026-03-30T01:30+01:00
    30 1 * * * | Europe/Dublin | by hand
      2026-10-24T12:00+01:00 > 2026-10-25T01:30+01:00 > 2026-10-26T01:30+00:00
    0 * * * * | Europe/Dublin | by hand
      2026-10-25T00:30+01:00 > 2026-10-25T01:00+01:00 > 2026-10-25T01:00+00:00 > 2026-10-25T02:00+00:00
    0 0 * * * | Pacific/Kiritimati | by hand
      2026-03-01T12:00+14:00 > 2026-03-02T00:00+14:00
    0 0 * * * | Etc/GMT+12 | by hand
      2026-03-01T12:00-12:00 > 2026-03-02T00:00-12:00
    0 0 1 * * | Asia/Kathmandu | by hand
      2026-03-01T12:00+05:45 > 2026-04-01T00:00+05:45
    # Casablanca goes back by an hour for Ramadan. Troll in Antarctica changes by two hours.
    30 2 * * * | Africa/Casablanca | by hand
      2025-02-22T12:00+01:00 > 2025-02-23T02:30+01:00 > 2025-02-24T02:30+00:00
    30 2 * * * | Africa/Casablanca | by hand
      2025-04-05T12:00+00:00 > 2025-04-06T03:00+01:00 > 2025-04-07T02:30+01:00
    30 1 * * * | Antarctica/Troll | by hand
      2026-03-28T12:00+00:00 > 2026-03-29T03:00+02:00 > 2026-03-30T01:30+02:00
    30 2 * * * | Antarctica/Troll | by hand
      2026-10-24T12:00+02:00 > 2026-10-25T02:30+02:00 > 2026-10-26T02:30+00:00
    0 * * * * | Antarctica/Troll | by hand
      2026-10-25T00:30+02:00 > 2026-10-25T01:00+02:00 > 2026-10-25T02:00+02:00 > 2026-10-25T01:00+00:00 >
      2026-10-25T02:00+00:00 > 2026-10-25T03:00+00:00
    """
}
