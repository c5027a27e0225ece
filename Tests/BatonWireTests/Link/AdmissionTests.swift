import BatonModel
import BatonWire
import ContractRows
import Testing

/// The decisions of `Admission`, on a manual clock and without connections.
@Suite final class AdmissionTests {
  private static let limits = Admission.Limits(
    connections: 6, reservedForOwner: 2, unproven: 4, unprovenPerAddress: 3, patience: .seconds(5))

  private var admission = Admission(limits)
  private var now = Instant(nanoseconds: 0)

  private func open(_ id: Admission.ID, _ address: String = "127.0.0.1") -> Admission.Verdict {
    admission.opened(id, from: .address(address), at: now)
  }

  private func openFromOwner(_ id: Admission.ID) -> Admission.Verdict {
    admission.opened(id, from: .owner, at: now)
  }

  private func isOverdue(_ id: Admission.ID) -> Bool { admission.isOverdue(id, at: now) }

  private func report() -> Int? { admission.report(at: now) }

  private func wait(_ duration: Duration) { now = now + duration }

  @Test(.refuses(5)) func `a connection that shows no token within its time is closed`() {
    #expect(open(1) == .admit)
    wait(.milliseconds(4999))
    #expect(!isOverdue(1))
    wait(.milliseconds(1))
    #expect(isOverdue(1))
    #expect(admission.count == 0)
    // It is reported only once.
    #expect(!isOverdue(1))
  }

  @Test func `an address that opens more connections in a second than permitted is refused, and no other`() {
    var limits = Self.limits
    limits.arrivals = RateLimit(rate: 2, burst: 2)
    admission = Admission(limits)
    for id in 1...2 { #expect(open(Admission.ID(id), "192.0.2.1") == .admit) }
    #expect(open(3, "192.0.2.1") == .refuse)
    #expect(open(4, "192.0.2.2") == .admit)
    #expect(openFromOwner(5) == .admit)
    wait(.milliseconds(499))
    #expect(open(6, "192.0.2.1") == .refuse)
    wait(.milliseconds(1))
    #expect(open(7, "192.0.2.1") == .admit)
    #expect(report() == 2)
  }

  @Test func `one that showed the token stays for as long as it likes`() {
    #expect(open(1) == .admit)
    admission.proven(1)
    wait(.seconds(3600))
    #expect(!isOverdue(1))
    #expect(admission.count == 1 && admission.unprovenCount == 0)
  }

  @Test func `one that was served without a token is not overdue, and can still be given up`() {
    for id in 1...3 { #expect(open(Admission.ID(id)) == .admit) }
    admission.served(1)
    wait(.seconds(5))
    #expect(!isOverdue(1))
    #expect(open(4) == .admitInPlaceOf(1))
  }

  @Test func `an address at its limit loses its oldest connection, not another address's`() {
    #expect(open(1, "127.0.0.2") == .admit)
    for id in 2...4 { #expect(open(Admission.ID(id)) == .admit) }
    #expect(open(5) == .admitInPlaceOf(2))
    #expect(open(6) == .admitInPlaceOf(3))
    // At the limit of all addresses, the oldest connection of any address gives way.
    #expect(open(7, "127.0.0.3") == .admitInPlaceOf(1))
    #expect(admission.unprovenCount == 4)
  }

  @Test func `those that showed the token do not count against an address, and are never given up`() {
    for id in 1...6 {
      #expect(open(Admission.ID(id)) == .admit)
      admission.proven(Admission.ID(id))
    }
    #expect(open(7) == .refuse)
    admission.closed(3)
    #expect(open(8) == .admit)
    // Only the connection that came before it can give way.
    #expect(open(9) == .admitInPlaceOf(8))
    admission.proven(9)
    #expect(open(10) == .refuse)
    #expect(admission.count == 6)
  }

  @Test func `the owner's socket has room when TCP has none, and no deadline`() {
    for id in 1...6 {
      #expect(open(Admission.ID(id)) == .admit)
      admission.proven(Admission.ID(id))
    }
    #expect(open(7) == .refuse)
    #expect(openFromOwner(8) == .admit)
    #expect(openFromOwner(9) == .admit)
    #expect(openFromOwner(10) == .refuse)
    wait(.seconds(3600))
    #expect(!isOverdue(8))
  }

  @Test func `an owner's connection takes the place of the oldest that showed no token, where there is no room`() {
    for id in 1...3 { #expect(open(Admission.ID(id)) == .admit) }
    admission.proven(1)
    for id in 4...8 { #expect(openFromOwner(Admission.ID(id)) == .admit) }
    #expect(openFromOwner(9) == .admitInPlaceOf(2))
    #expect(openFromOwner(10) == .admitInPlaceOf(3))
    #expect(admission.count == 8 && admission.unprovenCount == 0)
    // All connections that are left are the owner's, or have shown the token.
    #expect(openFromOwner(11) == .refuse)
    #expect(open(12) == .refuse)
  }

  @Test func `beside a flood of requests to HTTP that need no token, all of the owner's are taken`() {
    admission = Admission(DescriptorBudget(limit: 1024).http)
    for id in 1...140 {
      _ = open(Admission.ID(id))
      admission.served(Admission.ID(id))
    }
    let refused = (1001...1040).filter { openFromOwner(Admission.ID($0)) == .refuse }
    #expect(refused.isEmpty)
    #expect(admission.count == 144)
  }

  @Test(.refuses(4)) func `a flood of silent connections displaces only itself, and a client is admitted`() {
    for id in 1...100_000 { _ = open(Admission.ID(id)) }
    #expect(admission.count == 3)
    #expect(open(200_000) == .admitInPlaceOf(99_998))
    admission.proven(200_000)
    for id in 300_000...300_100 { _ = open(Admission.ID(id)) }
    #expect(admission.count == 4 && admission.unprovenCount == 3)
    for id in 300_000...300_100 { admission.closed(Admission.ID(id)) }
    #expect(admission.count == 1)
  }

  @Test func `what was turned away is told at most once a minute`() {
    #expect(report() == nil)
    for id in 1...5 { _ = open(Admission.ID(id)) }
    #expect(report() == 2)
    _ = open(6)
    wait(.seconds(59))
    #expect(report() == nil)
    wait(.seconds(1))
    #expect(report() == 1)
    wait(.seconds(60))
    #expect(report() == nil)
  }

  @Test(arguments: [
    (64, 16, 8, 40, 20), (256, 64, 32, 160, 80), (1024, 256, 128, 640, 320), (65_536, 256, 128, 65_152, 1000),
    (1_048_576, 256, 128, 1_048_192, 1000), (Int.max, 256, 128, Int.max - 384, 1000), (4, 1, 1, 4, 2),
  ])
  func `descriptors are divided so that some are left`(
    limit: Int, reserve: Int, http: Int, grpc: Int, unproven: Int
  ) {
    let budget = DescriptorBudget(limit: limit)
    #expect(budget.reserve == reserve && budget.http.connections == http)
    #expect(budget.grpc.connections == grpc && budget.grpc.unproven == unproven)
    #expect(budget.grpc.unprovenPerAddress == unproven / 2)
    #expect(budget.grpc.patience == .seconds(5) && budget.http.patience == .seconds(5))
    // Half of the rest is reserved for the owner, however many connections come over TCP; the other half is for files
    // and pipes.
    #expect(budget.grpc.reservedForOwner == reserve / 2)
    guard limit > 4 else { return }
    #expect(budget.http.reservedForOwner > 0 && budget.grpc.reservedForOwner > 0)
    #expect(budget.http.reservedForOwner + budget.grpc.reservedForOwner < reserve)
  }
}
