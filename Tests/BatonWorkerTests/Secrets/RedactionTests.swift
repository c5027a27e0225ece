import ContractRows
import Testing

@testable import BatonWorker

@Suite("The values of secrets in output") struct RedactionTests {
  private func redaction(_ values: String...) -> Redaction { Redaction(values.map { Array($0.utf8) }) }

  /// The text, given in pieces that end at these positions.
  private func streamed(_ text: String, _ redaction: Redaction, cuts: [Int]) -> (during: String, end: String) {
    var stream = RedactedStream(redaction)
    let bytes = Array(text.utf8)
    var during: [UInt8] = []
    var start = 0
    for cut in cuts + [bytes.count] {
      during += stream.append(Array(bytes[start..<cut]))
      start = cut
    }
    return (String(decoding: during, as: UTF8.self), String(decoding: stream.finish(), as: UTF8.self))
  }

  @Test(
    "each stretch of bytes that values cover becomes one replacement", .refuses(34),
    arguments: [
      ("hunter2", ["hunter2"], "•••"), ("a hunter2 b", ["hunter2"], "a ••• b"), ("hunter", ["hunter2"], "hunter"),
      ("hunter2hunter2", ["hunter2"], "•••"), ("hunter2 hunter2", ["hunter2"], "••• •••"),
      // A value that is the beginning, the end, or the middle of another one.
      ("abcdefghi", ["abcdef", "abcdefghi"], "•••"), ("abcdefg", ["abcdef", "abcdefghi"], "•••g"),
      ("xabcdefghi", ["defghi", "abcdefghi"], "x•••"), ("abcdefghij", ["cdefgh", "abcdefghij"], "•••"),
      // Values that overlap.
      ("-abcdefgh-", ["abcdef", "cdefgh"], "-•••-"), ("aaaaaaaaaa", ["aaaaaa"], "•••"),
      ("abcabcabcabc!", ["abcabcabc"], "•••!"),
      // A value that begins again within itself.
      ("aaaaaab", ["aaaaab"], "a•••"), ("ababababac", ["abababac"], "ab•••"),
      // Short values are ordinary text.
      ("12345", ["12345"], "12345"), ("123456", ["123456"], "•••"),
      // Within a JSON string.
      (#"{"key": "pass\"word\\1"}"#, [#"pass"word\1"#], #"{"key": "•••"}"#),
      ("line\nbreak", ["line\nbreak"], "•••"), (#"line\nbreak"#, ["line\nbreak"], "•••"),
      ("", ["hunter2"], ""), ("no secret at all", [], "no secret at all"),
    ] as [(String, [String], String)])
  func whole(text: String, values: [String], expected: String) {
    let redaction = Redaction(values.map { Array($0.utf8) })
    #expect(redaction.redacted(text) == expected)
    #expect(redaction.finds(in: Array(text.utf8)) == (text != expected))
    // Two cuts at every pair of positions do not change the result.
    let count = text.utf8.count
    for first in 0...count {
      for second in first...count {
        let (during, end) = streamed(text, redaction, cuts: [first, second])
        #expect(during + end == expected, "cut at \(first) and \(second)")
      }
    }
    // Nor does one cut after each byte.
    let (during, end) = streamed(text, redaction, cuts: Array(0..<count))
    #expect(during + end == expected)
  }

  @Test("a value is found at each position at which a piece may end, and no part of it is given out before")
  func splits() {
    let secret = "correct horse battery staple"
    let redaction = redaction(secret)
    for cut in 1..<secret.utf8.count {
      var stream = RedactedStream(redaction)
      let first = stream.append(Array("> \(secret)".utf8.prefix(2 + cut)))
      #expect(first == Array("> ".utf8))
      #expect(stream.append(Array("\(secret)\n".utf8.dropFirst(cut))) == Array("•••\n".utf8))
      #expect(stream.finish() == [])
    }
  }

  @Test("only the end that may begin a value is held back, and the end of the output gives it out")
  func holding() {
    var stream = RedactedStream(redaction("hunter2", "hunting"))
    #expect(stream.append(Array("a line\n".utf8)) == Array("a line\n".utf8))
    #expect(stream.append(Array("another with hunt".utf8)) == Array("another with ".utf8))
    #expect(stream.append(Array("ress\n".utf8)) == Array("huntress\n".utf8))
    #expect(stream.append(Array("hunt".utf8)) == [])
    #expect(stream.finish() == Array("hunt".utf8))
    #expect(stream.append(Array("er2".utf8)) == Array("er2".utf8), "the next output begins again")
  }

  @Test("what a shorter value has covered stays covered while a longer one may follow")
  func coveredAndHeld() {
    var stream = RedactedStream(redaction("abcdef", "defghijkl"))
    #expect(stream.append(Array("abcdef".utf8)) == Array("•••".utf8))
    #expect(stream.append(Array("ghi".utf8)) == [])
    #expect(stream.append(Array("jkl.".utf8)) == Array(".".utf8), "one stretch is one replacement")
    #expect(stream.append(Array("abcdef".utf8)) == Array("•••".utf8))
    #expect(stream.append(Array("ghi!".utf8)) == Array("ghi!".utf8))
  }

  @Test("a value that repeats itself does not make the search slow")
  func repeating() {
    let redaction = Redaction([[UInt8](repeating: 97, count: 64 << 10) + [98]])
    var stream = RedactedStream(redaction)
    // A comparison from the beginning at each position would be two thousand million comparisons of bytes.
    for _ in 0..<16 { #expect(stream.append([UInt8](repeating: 97, count: 4096)) == []) }
    #expect(stream.append([97]) == [97])
    #expect(stream.append([98]) == Array("•••".utf8))
  }

  @Test("an error without a value is the same error, and one with a value keeps its code")
  func errors() {
    let redaction = redaction("hunter2")
    let plain = CommandError(.exitStatus, "failed", type: "exit 3")
    #expect(redaction.redacted(plain) as? CommandError == plain)
    let leaking = CommandError(.exitStatus, "failed with hunter2", type: "exit 3")
    #expect(
      redaction.redacted(leaking) as? CommandError == CommandError(.exitStatus, "failed with •••", type: "exit 3"))
    struct Other: Error, CustomStringConvertible { let description = "of hunter2" }
    #expect("\(redaction.redacted(Other()))" == "of •••")
  }
}
