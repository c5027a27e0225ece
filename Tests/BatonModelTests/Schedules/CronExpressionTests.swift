import BatonModel
import Testing

@Suite("Cron expressions")
struct CronExpressionTests {
  @Test("A mistake is named, with what to write instead", arguments: CronMistakes.all)
  func mistakes(text: String, message: String) {
    #expect { try CronExpression(text) } throws: { error in
      #expect("\(error)" == message)
      return error is CronProblem
    }
  }

  @Test(
    "A text that is not one line of printable ASCII is refused",
    arguments: [
      "", "   ", "0 0 * *\t*", "0 0 * * *\n", "0 0 * *\0 *", "0 0 * * *\u{7F}", "0 0 * * *\u{1B}[1m", "0 0 * * \u{A0}*",
      "\u{202E}0 0 * * *",
    ])
  func characters(text: String) { #expect(throws: CronProblem.self) { try CronExpression(text) } }

  @Test("A text of 255 bytes is read, and a longer one is refused")
  func length() throws {
    let text = "0" + String(repeating: ",0", count: 123) + " 0 * * *"
    #expect(text.utf8.count == 255)
    #expect(try CronExpression(text).text == text)
    #expect { try CronExpression(text + " ") } throws: {
      "\($0)" == "the expression has 256 bytes, and 255 is the limit"
    }
    #expect(throws: CronProblem.self) { try CronExpression(String(repeating: "1,", count: 5_000_000)) }
  }

  @Test("The problem names the field")
  func field() {
    #expect { try CronExpression("0 0 * 13 *") } throws: { ($0 as? CronProblem)?.field == .month }
    #expect { try CronExpression("0 0 * *") } throws: { ($0 as? CronProblem)?.field == nil }
  }

  @Test(
    "An expression names hours if it does not run in every hour",
    arguments: [
      ("0 * * * *", false), ("@hourly", false), ("*/5 * * * 1", false), ("0 */1 * * *", false), ("0 0-23 * * *", false),
      ("0 0-11,12-23 * * *", false), ("0 0 * * *", true), ("* */2 * * *", true), ("0 1-23 * * *", true),
      ("@daily", true),
    ])
  func namesHours(text: String, namesHours: Bool) throws {
    #expect(try CronExpression(text).namesHours == namesHours)
  }

  @Test(
    "Different texts can have the same meaning",
    arguments: [
      ("0 0 * * 7", "0 0 * * SUN"), ("0 0 * * 5-7", "0 0 * * 0,5,6"), ("0 0 * * fri-SUN", "0 0 * * 5-7"),
      ("05 007 * * *", "5 7 * * *"), ("*/15 * * * *", "0,15,30,45 * * * *"), ("40/10 * * * *", "40-59/10 * * * *"),
      ("5-5 * * * *", "5 * * * *"), ("0 0 * * 7-7", "0 0 * * 0"), ("0 0 * * 7/2", "0 0 * * 0/2"),
      ("*/100 * * * *", "0 * * * *"), ("0 0 * jan-MAR *", "0 0 * 1-3 *"), ("0 0 * * 7#1", "0 0 * * SUN#1"),
      ("0 0 * * L7", "0 0 * * l0"), ("0 0 13 * FRI,MON#1", "0 0 13 * 1#1,5"), ("0 0 1-30,L * */2", "0 0 * * */2"),
      ("0 0 * * *,5#2", "0 0 * * *"), ("10-50/10 * * * *", "10,20,30,40,50 * * * *"),
    ])
  func equal(left: String, right: String) throws {
    let zone = ZoneOffsets.utc
    let times = try [left, right].map {
      CalendarTimes(try CronExpression($0), in: zone).times(
        after: Timestamp(seconds: 1_772_000_000), through: .distantFuture, limit: 200)
    }
    #expect(times[0] == times[1])
    #expect(times[0].count == 200)
  }

  @Test("Every text is read, or refused with one short line of ASCII", arguments: [1, 2, 3, 4] as [UInt64])
  func hostile(seed: UInt64) {
    var random = RandomExpressions(seed: seed)
    let pieces = [
      "*", "/", "-", ",", "#", "L", "l", "W", "?", "H", "@", " ", "  ", "0", "1", "5", "7", "12", "31", "59", "60",
      "SUN",
      "mon-FRI", "JAN", "@daily", "99999999999999999999", "\t", "\0", "é", "\u{202E}", "🕰", ".", "+", "0x1F", "'", "\\",
    ]
    for _ in 0..<20_000 {
      let text = (0..<random.number(0...24)).map { _ in pieces[random.number(0...pieces.count - 1)] }.joined()
      do throws(CronProblem) {
        let expression = try CronExpression(text)
        #expect(expression.text == text)
        #expect(CalendarTimes(expression, in: .utc).next(after: Timestamp(seconds: 1_772_000_000)) != nil, "\(text)")
      } catch {
        #expect(error.description.utf8.count <= 300, "\(text)")
        #expect(error.description.utf8.allSatisfy { (0x20...0x7E).contains($0) }, "\(text)")
      }
    }
  }
}
