/// Texts that are no cron expressions. Below each is its message. `FORM` and `MACROS` stand for the forms of an
/// expression.
enum CronMistakes {
  static let text = """
    * * * *
      the expression has 4 fields; FORM
    * * * * * *
      the expression has 6 fields; FORM, without seconds and without years
    * * * * * * *
      the expression has 7 fields; FORM, without seconds and without years
    @reboot
      '@reboot' is not a macro that names times; MACROS
    @every 5m
      '@every' is not a macro that names times; MACROS
    @daily 5
      '@daily' is followed by more text; MACROS
    60 * * * *
      minute '60': 60 is not a number from 0 to 59
    -1 * * * *
      minute '-1': '-1' is not a value, a range such as 1-5, or a step such as */2
    * 24 * * *
      hour '24': 24 is not a number from 0 to 23
    * * 0 * *
      day of month '0': 0 is not a number from 1 to 31
    * * 32 * *
      day of month '32': 32 is not a number from 1 to 31
    * * * 0 *
      month '0': 0 is not a number from 1 to 12 or a name from JAN to DEC
    * * * 13 *
      month '13': 13 is not a number from 1 to 12 or a name from JAN to DEC
    * * * * 8
      day of week '8': 8 is not a number from 0 to 7 or a name from SUN to SAT
    ? * * * *
      minute '?': ? is not supported; write *
    * * ? * *
      day of month '?': ? is not supported; write *
    * * * * ?
      day of week '?': ? is not supported; write *
    * * 15W * *
      day of month '15W': W is not supported; write a day from 1 to 31, or L for the last day
    * * W15 * *
      day of month 'W15': W is not supported; write a day from 1 to 31, or L for the last day
    * * LW * *
      day of month 'LW': W is not supported; write a day from 1 to 31, or L for the last day
    * * L-3 * *
      day of month 'L-3': L stands alone, for the last day of the month; write a range with numbers, such as 25-31
    * * 25-L * *
      day of month '25-L': L stands alone, for the last day of the month; write a range with numbers, such as 25-31
    * * L/2 * *
      day of month 'L/2': L stands alone, for the last day of the month; write a range with numbers, such as 25-31
    L * * * *
      minute 'L': 'L' is not a number from 0 to 59
    * * * L *
      month 'L': 'L' is not a number from 1 to 12 or a name from JAN to DEC
    * * * * L
      day of week 'L': L needs the number of a day after it, from 0 to 7, such as L5 for the last Friday of the month
    * * * * 5L
      day of week '5L': write L5 for the last such day of the month
    * * * * FRIL
      day of week 'FRIL': write L5 for the last such day of the month
    * * * * L8
      day of week 'L8': L needs the number of a day after it, from 0 to 7, such as L5 for the last Friday of the month
    * * * * LFRI
      day of week 'LFRI': L needs the number of a day after it, from 0 to 7, such as L5 for the last Friday of the month
    * * * * 5#6
      day of week '5#6': # needs a number from 1 to 5 after it, such as FRI#2 for the second Friday; L5 is the last
    * * * * 5#0
      day of week '5#0': # needs a number from 1 to 5 after it, such as FRI#2 for the second Friday; L5 is the last
    * * * * 5#
      day of week '5#': # needs a number from 1 to 5 after it, such as FRI#2 for the second Friday; L5 is the last
    * * * * #2
      day of week '#2': write one day before #, such as 5#2 or FRI#2 for the second Friday
    * * * * 8#2
      day of week '8#2': 8 is not a number from 0 to 7 or a name from SUN to SAT
    * * * * MON-FRI#2
      day of week 'MON-FRI#2': write one day before #, such as 5#2 or FRI#2 for the second Friday
    * * 5#2 * *
      day of month '5#2': # is for days of the week only; write FRI#2 in the last field
    H * * * *
      minute 'H': H is not supported; write a number from 0 to 59
    * H/2 * * *
      hour 'H/2': H is not supported; write a number from 0 to 23
    5-1 * * * *
      minute '5-1': the range 5-1 ends before it begins; write 1-5, or 5-59,0-1
    * * * * 5-1
      day of week '5-1': the range 5-1 ends before it begins; write 1-5, or 5-6,0-1
    * * * * 6-0
      day of week '6-0': the range 6-0 ends before it begins; write 6-7
    * * * * FRI-MON
      day of week 'FRI-MON': the range 5-1 ends before it begins; write 1-5, or 5-6,0-1
    * * * NOV-FEB *
      month 'NOV-FEB': the range 11-2 ends before it begins; write 2-11, or 11-12,1-2
    */0 * * * *
      minute '*/0': a step has to be at least 1; write */1 or *
    1-5/0 * * * *
      minute '1-5/0': a step has to be at least 1; write */1 or *
    */ * * * *
      minute '*/': a step is a number after /, such as */2
    */x * * * *
      minute '*/x': a step is a number after /, such as */2
    */-1 * * * *
      minute '*/-1': a step is a number after /, such as */2
    1,,2 * * * *
      minute '1,,2': a list has a comma without a value; write a value on both sides of it
    ,1 * * * *
      minute ',1': a list has a comma without a value; write a value on both sides of it
    1, * * * *
      minute '1,': a list has a comma without a value; write a value on both sides of it
    , * * * *
      minute ',': a list has a comma without a value; write a value on both sides of it
    1- * * * *
      minute '1-': '1-' is not a value, a range such as 1-5, or a step such as */2
    1-2-3 * * * *
      minute '1-2-3': '1-2-3' is not a value, a range such as 1-5, or a step such as */2
    1/2/3 * * * *
      minute '1/2/3': '1/2/3' is not a value, a range such as 1-5, or a step such as */2
    /5 * * * *
      minute '/5': '/5' is not a value, a range such as 1-5, or a step such as */2
    *-5 * * * *
      minute '*-5': '*-5' is not a value, a range such as 1-5, or a step such as */2
    ** * * * *
      minute '**': '**' is not a number from 0 to 59
    *5 * * * *
      minute '*5': '*5' is not a number from 0 to 59
    5* * * * *
      minute '5*': '5*' is not a number from 0 to 59
    1.5 * * * *
      minute '1.5': '1.5' is not a number from 0 to 59
    x * * * *
      minute 'x': 'x' is not a number from 0 to 59
    * MON * * *
      hour 'MON': 'MON' is not a number from 0 to 23
    * * * foo *
      month 'foo': 'foo' is not a number from 1 to 12 or a name from JAN to DEC
    * * * janu-jun *
      month 'janu-jun': 'janu' is not a number from 1 to 12 or a name from JAN to DEC
    * * * * Thursday
      day of week 'Thursday': 'Thursday' is not a number from 0 to 7 or a name from SUN to SAT
    * * * * JUL
      day of week 'JUL': 'JUL' is not a number from 0 to 7 or a name from SUN to SAT
    99999999999999999999999999 * * * *
      minute '99999999999999999999999999': 99999999999999999999999999 is not a number from 0 to 59
    0-10000000 * * * *
      minute '0-10000000': 10000000 is not a number from 0 to 59
    +5 * * * *
      minute '+5': '+5' is not a number from 0 to 59
    0x1 * * * *
      minute '0x1': '0x1' is not a number from 0 to 59
    0 0 30 2 *
      day of month '30': month '2' never has this day; write L for the last day of the month
    0 0 31 4,6,9,11 *
      day of month '31': month '4,6,9,11' never has this day; write L for the last day of the month
    0 0 30,31 FEB *
      day of month '30,31': month 'FEB' never has this day; write L for the last day of the month
    ٥ * * * *
      the expression has a control character or a character that is not ASCII; FORM
    0 0 0 1 0
      day of month '0': 0 is not a number from 1 to 31
    "0 0 * * *"
      minute '"0': '"0' is not a number from 0 to 59
    CRON_TZ=UTC 0 0 * * *
      the expression has 6 fields; FORM, without seconds and without years
    H(0-29) 0 * * *
      minute 'H(0-29)': H is not supported; write a number from 0 to 59
    R * * * *
      minute 'R': 'R' is not a number from 0 to 59
    """

  static let words = [
    "FORM": "write five fields, minute, hour, day of month, month, day of week, such as 30 2 * * 1-5",
    "MACROS":
      "write five fields, or one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually alone",
  ]

  /// Each text with its message.
  static let all: [(text: String, message: String)] = {
    let lines = text.split(separator: "\n").map(String.init)
    return stride(from: 0, to: lines.count - 1, by: 2).map { index in
      let message = words.reduce(String(lines[index + 1].dropFirst(2))) { message, word in
        message.split(separator: word.key, omittingEmptySubsequences: false).joined(separator: word.value)
      }
      return (lines[index], message)
    }
  }()
}
