import BatonModel
import Foundation
import Testing

@Suite struct JobResultTests {
  @Test(arguments: [
    "null", "true", "false", "0", "-0", "12", "-1.50", "1e9", "1E-9", "2.5e+3", #""""#, #""é 😀""#,
    #""\"\\\/\b\f\n\r\t""#,
    #""\u00e9\uD83D\uDE00\ud800""#, "[]", "{}", "[ 1 , [ ] , { } ]", #"{"a":1,"a":2}"#, "\t\r\n {} \n",
  ])
  func `JSON is a result, with the bytes that its author wrote`(text: String) throws {
    #expect(try JobResult(Array(text.utf8)).text == text)
  }

  @Test(arguments: [
    "", " ", "nul", "nulll", "True", "01", "-", "1.", ".5", "+1", "1e", "NaN", "'a'", #""a"#, #""\x""#, #""\u12g4""#,
    #""\u12"#,
    "\"\n\"", "[1,]", "[1 2]", "[", "]", "{a:1}", #"{"a"}"#, #"{"a":1,}"#, #"{"a":}"#, #"{1:2}"#, "1 2", "// a\n1",
    "\u{FEFF}1",
  ])
  func `everything else is none`(text: String) {
    #expect(throws: JobResultProblem.notJSON) { try JobResult(Array(text.utf8)) }
  }

  @Test func `bytes that are no UTF-8 are none, and neither is what is nested too deep`() {
    #expect(throws: JobResultProblem.notJSON) { try JobResult([0x22, 0xFF, 0x22]) }
    let deep = { (count: Int) in
      Array((String(repeating: "[", count: count) + String(repeating: "]", count: count)).utf8)
    }
    #expect(JSONText.isValid(deep(JSONText.deepest)) && !JSONText.isValid(deep(JSONText.deepest + 1)))
    #expect(!JSONText.isValid(deep(30_000)))
  }

  @Test func `a result has at most 64 KiB`() {
    let number = { [UInt8](repeating: UInt8(ascii: "7"), count: $0) }
    #expect(throws: Never.self) { try JobResult(number(JobResult.maximumBytes)) }
    #expect(throws: JobResultProblem.tooLarge(65_537)) { try JobResult(number(JobResult.maximumBytes + 1)) }
  }

  /// Every change of one byte is judged as Foundation judges it, apart from what only one of both permits.
  @Test func `it agrees with another reader of JSON`() {
    let text = Array(#"{"a": [1, -2.5e3, true, null, "x\n"], "b": {}}"#.utf8)
    for index in text.indices {
      for byte in Array("\"{,1 ".utf8) + [0x00] {
        var changed = text
        changed[index] = byte
        let other = (try? JSONSerialization.jsonObject(with: Data(changed), options: .fragmentsAllowed)) != nil
        #expect(JSONText.isValid(changed) == other, "\(String(decoding: changed, as: UTF8.self))")
      }
    }
  }
}
