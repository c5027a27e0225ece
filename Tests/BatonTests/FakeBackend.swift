import BatonCommands
import BatonCoordinator
import BatonDoctor
import BatonIdentity
import BatonModel
import BatonStore
import Synchronization

/// A backend that connects to a `FakeCoordinator` and records the calls.
final class FakeBackend: Backend {
  let coordinator: FakeCoordinator
  /// The error to throw instead of connecting or starting.
  let error: (any Error)?
  let targets = Mutex<[ConnectionTarget]>([])
  let logins = Mutex<[String]>([])
  let runs = Mutex<[RunOptions]>([])
  let ups = Mutex<[UpOptions]>([])
  let consoles = Mutex<[ConsoleOptions]>([])
  let coordinators = Mutex<[CoordinatorOptions]>([])
  let backups = Mutex<[String]>([])
  let moves = Mutex<[String]>([])
  let examinations = Mutex<[DoctorOptions]>([])
  /// What `baton doctor` finds.
  let host: HostFacts

  init(_ coordinator: FakeCoordinator, error: (any Error)? = nil, host: HostFacts = HostFacts()) {
    self.coordinator = coordinator
    self.host = host
    self.error = error
  }

  func connect<Result: Sendable>(
    _ target: ConnectionTarget, _ body: @escaping @Sendable (any OperatorAPI) async throws -> Result
  ) async throws -> Result {
    targets.withLock { $0.append(target) }
    if let error { throw error }
    return try await body(coordinator)
  }

  /// The submissions through the socket of a launch: the path of the socket, and what was submitted.
  let launchSubmissions = Mutex<[String]>([])

  /// A second submission of one name is a repeat, and the identifier `com.example.forbidden` is refused.
  func submit(
    _ submission: LaunchSubmission, name: String?, throughSocket path: String
  ) async throws -> (SubmissionResult, isRepeat: Bool) {
    let payload = submission.payload.map { String(decoding: $0, as: UTF8.self) } ?? "-"
    let line = "\(path) \(name ?? "-") \(submission.identifier) \(payload)"
    let isRepeat = launchSubmissions.withLock { all in
      defer { all.append(line) }
      return all.contains(line)
    }
    if let error { throw error }
    if submission.identifier.rawValue == "com.example.forbidden" {
      return (.refused(code: "notPermitted", message: "add it to 'maySubmit'"), false)
    }
    let receipt = SubmissionReceipt(
      request: RequestID(0), identifier: submission.identifier, number: 3, state: .ready,
      eligibleAt: Timestamp(nanoseconds: 0), replaced: false)
    return (.accepted(receipt, traceID: "", warning: nil), isRepeat)
  }

  func logIn(_ address: String, _ pin: Pin, _ token: CredentialToken) async throws -> (FleetLogin, Caller) {
    logins.withLock { $0.append("\(address) \(pin) \(token)") }
    if let error { throw error }
    let authority = try FleetAuthority(at: Timestamp(nanoseconds: 1_772_346_600_000_000_000))
    return (try FleetLogin(address: address, root: authority.root, token: token), try await coordinator.whoAmI())
  }

  func runEmbedded<Result: Sendable>(
    _ options: RunOptions, prepare: @escaping @Sendable (any OperatorAPI) async throws -> Void,
    _ body: @escaping @Sendable (any OperatorAPI) async throws -> Result
  ) async throws -> Result {
    runs.withLock { $0.append(options) }
    if let error { throw error }
    try await prepare(coordinator)
    return try await body(coordinator)
  }

  func runUp(
    _ options: UpOptions, started: @escaping @Sendable (any OperatorAPI) async throws -> Void
  ) async throws {
    ups.withLock { $0.append(options) }
    if let error { throw error }
    try await started(coordinator)
  }

  func runConsole(
    _ options: ConsoleOptions, _ target: ConnectionTarget, signIn: @escaping @Sendable (_ address: String) -> Void
  ) async throws {
    consoles.withLock { $0.append(options) }
    if let error { throw error }
    signIn("http://baton-7f.localhost:7430/login#4f")
  }

  func runCoordinator(_ options: CoordinatorOptions) async throws {
    coordinators.withLock { $0.append(options) }
    if let error { throw error }
  }

  func backUpStore(
    in folder: String, to file: String, _ report: @escaping @Sendable (BackupProgress) -> Void
  ) async throws -> BackupSummary {
    backups.withLock { $0.append("\(folder) \(file)") }
    if let error { throw error }
    return .example(file)
  }

  func moveStore(
    _ options: CoordinatorOptions, to place: StorePlace, _ move: StoreMove.Options
  ) async throws -> StoreMove.Summary {
    moves.withLock { $0.append("\(options.dataFolder ?? "-") \(place)\(move.isRehearsal ? " rehearsal" : "")") }
    if let error { throw error }
    for progress in StoreMove.Progress.examples { move.report(progress) }
    return StoreMove.Summary(requests: 2, rows: 9)
  }

  func examineHost(_ options: DoctorOptions) async -> HostFacts {
    examinations.withLock { $0.append(options) }
    return host
  }
}
