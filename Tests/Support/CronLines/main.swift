/// Computes the next times of cron expressions for `Scripts/check-cron`, which compares them with those of croniter.
///
/// Reads lines `EXPRESSION<TAB>ZONE<TAB>SECONDS` from standard input: a cron expression, the name of a time zone of the
/// tz database, and an instant in seconds since 1970 UTC. Prints a line for each: the first later instant at which the
/// expression matches, `none` if there is none, or `error` and the message. With the argument `--time` it prints the
/// microseconds that a line took on average instead.
import BatonModel
import Foundation

/// The offsets of a zone from Foundation.
func offsets(of zone: TimeZone) -> ZoneOffsets {
  ZoneOffsets { zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double($0))) }
}

func answer(_ line: String) -> String {
  let columns = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
  guard columns.count == 3, let zone = TimeZone(identifier: columns[1]), let seconds = Int64(columns[2]) else {
    return "error\tthe line is not EXPRESSION<TAB>ZONE<TAB>SECONDS"
  }
  do throws(CronProblem) {
    let times = CalendarTimes(try CronExpression(columns[0]), in: zone.identifier == "GMT" ? .utc : offsets(of: zone))
    guard let next = times.next(after: Timestamp(nanoseconds: seconds * 1_000_000_000)) else { return "none" }
    return String(next.nanoseconds / 1_000_000_000)
  } catch {
    return "error\t\(error.description)"
  }
}

let isTimed = CommandLine.arguments.contains("--time")
let clock = ContinuousClock()
let start = clock.now
var count = 0
while let line = readLine() {
  let answer = answer(line)
  count += 1
  if !isTimed { print(answer) }
}
if isTimed { print((clock.now - start) / max(1, count)) }
