import BatonCoordinator
import BatonModel
import BatonStore
import Logging
import Testing

/// What operators say at the same time: whichever word the store took last is the one that holds.
@Suite struct WordOrderTests {
  static let host = HostName("a")

  @Test func `of two words at once the store and the dispatcher keep the same one`() async throws {
    let store = try SQLiteStore.inMemory()
    _ = try store.transaction {
      try $0.grantLease(Self.host, Incarnation("a1"), link: 1, at: Moment(Timestamp(nanoseconds: 1)))
    }
    let coordinator = Coordinator(store: store, settings: CoordinatorSettings(), logger: Logger(label: "test"))
    try await coordinator.restore()
    for round in 1...300 {
      // The later word has the higher priority, so that it overtakes the other one if it can.
      let one = Task(priority: .background) { try await coordinator.setDraining(Self.host, true) }
      let other = Task(priority: .high) { try await coordinator.setDraining(Self.host, false) }
      _ = try await (one.value, other.value)
      let stored = try await store.fleet().hosts.map(\.isDraining)
      #expect(coordinator.hosts().map(\.state.host.isDraining) == stored, "round \(round)")
    }
  }
}
