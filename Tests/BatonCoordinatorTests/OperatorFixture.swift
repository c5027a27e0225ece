import BatonBase
import BatonModel
import BatonTelemetry
import Logging
import Synchronization

@testable import BatonCoordinator
@testable import BatonStore

/// A coordinator without loops. Time stands still; each sleep is recorded and ends at once.
struct OperatorFixture {
  static let noon = Timestamp(nanoseconds: 1_700_000_000_000_000_000)

  let store: SQLiteStore
  let coordinator: Coordinator
  let slept = Slept()

  init(_ store: SQLiteStore) {
    self.store = store
    let slept = slept
    let clocks = Clocks(
      now: { Now(instant: Instant(nanoseconds: 0), date: Self.noon) }, sleep: { slept.note($0) })
    coordinator = Coordinator(
      store: store, settings: CoordinatorSettings(), clocks: clocks,
      logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    let now = coordinator.now()
    coordinator.decide { $0.core.tick(at: now) }
  }

  init() throws { self.init(try SQLiteStore.inMemory()) }

  /// A worker says hello and is attached, as far as store and dispatcher see it.
  func attach(_ hello: Hello = Desk.hello()) async throws {
    let grant = try await store.grantLease(
      hello.host, hello.incarnation, report: nil, at: coordinator.now().moment)
    coordinator.decide { state in
      state.core.decide { dispatcher in
        guard case .attached(let held) = dispatcher.hello(hello, from: "test", at: Instant(nanoseconds: 0)) else {
          return []
        }
        dispatcher.granted(grant.lease, at: Instant(nanoseconds: 0))
        return dispatcher.attached(hello.host, held: held, running: [], assignments: [])
      }
    }
  }

  func submit(
    _ identifier: String = "com.example.a", id: String = "1", poke: PokePriority? = nil, parent: TraceContext? = nil
  ) async throws -> SubmissionResult {
    let order = SubmissionOrder(id: id, identifier: JobIdentifier(identifier)!, poke: poke, parent: parent)
    return try await coordinator.submit([order], by: "ada")[0]
  }

  var lastUses: [IdentifierPattern: Timestamp] { coordinator.state.withLock { $0.core.dispatcher.lastUses } }
}

final class Slept: Sendable {
  private let durations = Mutex<[Duration]>([])
  func note(_ duration: Duration) { durations.withLock { $0.append(duration) } }
  var all: [Duration] { durations.withLock { $0 } }
}
