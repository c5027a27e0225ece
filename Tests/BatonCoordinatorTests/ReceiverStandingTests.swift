import BatonBase
import BatonModel
import BatonStore
import Testing

@testable import BatonCoordinator

@Suite struct ReceiverStandingTests {
  private static func now(_ seconds: Int64) -> Now {
    var now = Now(instant: Instant(nanoseconds: seconds * 1_000_000_000), date: Timestamp(nanoseconds: 0))
    now.steady = Timestamp(nanoseconds: seconds * 1_000_000_000)
    return now
  }

  private static func next(_ outcome: NotificationAttempt.Outcome) -> Duration? {
    if case .again(let at, _) = outcome { at - Timestamp(nanoseconds: 0) } else { nil }
  }

  @Test func `a receiver that takes what it gets is sent several at once`() {
    var standing = ReceiverStanding()
    #expect(standing.room(at: Instant(nanoseconds: 0)) == ReceiverStanding.atOnce)
    #expect(standing.outcome(of: .accepted("HTTP 200"), attempts: 3, at: Self.now(0), draw: 0) == .accepted)
    #expect(standing == ReceiverStanding())
  }

  @Test func `a receiver that fails is left alone for longer and longer, and gets one at a time`() {
    var standing = ReceiverStanding()
    var waits: [Int64] = []
    for _ in 0..<9 {
      _ = standing.outcome(of: .refused("down"), attempts: 0, at: Self.now(0), draw: 1)
      let next = standing.notBefore!
      #expect(standing.room(at: Instant(nanoseconds: next.nanoseconds - 1)) == 0)
      #expect(standing.room(at: next) == 1)
      waits.append(next.nanoseconds / 1_000_000_000)
    }
    #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60, 60])
    _ = standing.outcome(of: .accepted(""), attempts: 1, at: Self.now(0), draw: 1)
    #expect(standing == ReceiverStanding())
  }

  @Test func `a notification waits by its own attempts, with a random part`() {
    func wait(_ attempts: Int, _ draw: Double, asked: Duration? = nil) -> Duration? {
      var standing = ReceiverStanding()
      return Self.next(
        standing.outcome(of: .refused("down", after: asked), attempts: attempts, at: Self.now(0), draw: draw))
    }
    #expect((0..<10).map { wait($0, 1) } == [2, 4, 8, 16, 32, 64, 128, 256, 512, 600].map { .seconds($0) })
    #expect(wait(0, 0) == .seconds(1))
    #expect(wait(5, 0.5, asked: .seconds(7)) == .seconds(7), "what the receiver asks for counts")
    #expect(wait(0, 0.5, asked: .seconds(1_000_000)) == .seconds(3600), "up to an hour")
    #expect(wait(5, 1, asked: .zero) == .seconds(64), "a receiver that asks for no wait is not flooded")
  }
}
