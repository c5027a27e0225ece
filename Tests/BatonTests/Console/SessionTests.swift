import BatonModel
import Testing

@testable import BatonConsole

/// Who is signed in to the console, and for how long.
@Suite("Console: sessions") struct SessionTests {
  private static let start = Timestamp(nanoseconds: 1_800_000_000_000_000_000)
  private let seal = SessionSeal(secret: Array(0..<32))

  @Test(arguments: [ConsoleSession.Proof.own, .credential("bt1_abc")])
  func `a cookie is the session that was sealed`(_ proof: ConsoleSession.Proof) {
    let session = ConsoleSession(proof, at: Self.start)
    #expect(seal.session(seal.cookie(of: session)) == session)
    #expect(!seal.cookie(of: session).contains("bt1"))
  }

  @Test func `a cookie that was altered, or is another console's, is no session`() {
    let cookie = seal.cookie(of: ConsoleSession(.own, at: Self.start))
    for place in [0, 11, 40, cookie.count - 1] {
      var text = Array(cookie)
      text[place] = text[place] == "0" ? "1" : "0"
      #expect(seal.session(String(text)) == nil, "\(place)")
    }
    #expect(SessionSeal(secret: Array(1..<33)).session(cookie) == nil)
    for text in ["", "00", "xx", String(repeating: "0", count: 9000), String(cookie.dropLast(2))] {
      #expect(seal.session(text) == nil)
    }
    #expect(seal.open(seal.seal([1], for: "notice"), for: "session") == nil, "a notice is no session")
  }

  @Test func `a session lasts while it is used, and a week at most`() throws {
    var session = ConsoleSession(.own, at: Self.start)
    #expect(session.isValid(at: Self.start) && !session.isValid(at: Self.start + .seconds(12 * 3600)))
    #expect(!session.isValid(at: Self.start + .seconds(-1)), "a clock that was set back ends it")
    #expect(session.renewed(at: Self.start + .seconds(3599)) == nil)
    for hours in stride(from: 11, to: 7 * 24, by: 11) {
      let now = Self.start + .seconds(Int64(hours) * 3600)
      #expect(session.isValid(at: now))
      session = try #require(session.renewed(at: now))
    }
    #expect(!session.isValid(at: Self.start + .seconds(7 * 86_400)))
  }

  @Test func `a code signs in once, within a minute`() {
    let codes = OneTimeCodes()
    let code = codes.issue(at: Self.start)
    #expect(code.count == 64 && code != codes.issue(at: Self.start))
    #expect(!codes.redeem(String(code.dropLast()), at: Self.start))
    #expect(codes.redeem(code, at: Self.start + .seconds(59)))
    #expect(!codes.redeem(code, at: Self.start + .seconds(59)), "it was used")
    let late = codes.issue(at: Self.start)
    #expect(!codes.redeem(late, at: Self.start + .seconds(60)))
    let lasting = codes.issue(at: Self.start, lasting: nil)
    #expect(codes.redeem(lasting, at: Self.start + .seconds(86_400)))
  }
}
