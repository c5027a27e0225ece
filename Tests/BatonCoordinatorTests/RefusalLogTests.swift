import BatonModel
import Testing

@testable import BatonCoordinator

/// A worker that is refused tries again for ever: the log says so once, and again each minute.
@Suite struct RefusalLogTests {
  private let a = HostName("a")
  private let b = HostName("b")
  private func second(_ number: Int64) -> Instant { Instant(nanoseconds: number * 1_000_000_000) }

  @Test func `a refusal is logged once, and again after a minute`() {
    var log = RefusalLog()
    let logged = (0..<180).filter { log.isNews(.name, of: a, at: second(Int64($0))) }
    #expect(logged == [0, 60, 120])
  }

  @Test func `other hosts and other reasons are told apart, and a host that was taken is news`() {
    var log = RefusalLog()
    func isNews(_ kind: RefusalLog.Kind, _ host: HostName, _ number: Int64) -> Bool {
      log.isNews(kind, of: host, at: second(number))
    }
    #expect(isNews(.name, a, 0))
    #expect(isNews(.name, b, 1))
    #expect(isNews(.lease, a, 1))
    #expect(!isNews(.name, a, 2))
    log.forget(a)
    #expect(isNews(.name, a, 3))
    #expect(!isNews(.name, b, 3))
  }

  @Test func `names that are drawn at random fill no memory`() {
    var log = RefusalLog()
    let logged = (0..<5000).filter { log.isNews(.name, of: HostName("host-\($0)"), at: second(0)) }
    #expect(logged.count == RefusalLog.most)
    let isNews = log.isNews(.name, of: HostName("later"), at: second(60))
    #expect(isNews)
  }
}
