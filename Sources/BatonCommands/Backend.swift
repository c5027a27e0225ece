package import BatonCoordinator
package import BatonDoctor
package import BatonIdentity
import BatonJSON
package import BatonModel
package import BatonStore

/// What the commands of `baton` need beside parsing and printing: a coordinator to talk to, in this process or
/// elsewhere, and the facts of this host. The `baton` binary passes `LiveBackend`; tests pass a fake.
package protocol Backend: Sendable {
  /// Connects to the coordinator that listens at `target`, and calls `body` with it. Of several addresses, the first
  /// whose coordinator answers is used.
  /// - Returns: what `body` returns.
  /// - Throws: `CoordinatorUnreachable` within five seconds if nothing answers or the coordinator does not accept the
  ///   token; a `CommandFailure` with status `usage` if `target` is malformed; and every error of `body`. If the
  ///   connection is lost later, the calls that `body` makes throw `CoordinatorUnreachable`.
  func connect<Result: Sendable>(
    _ target: ConnectionTarget, _ body: @escaping @Sendable (any OperatorAPI) async throws -> Result
  ) async throws -> Result

  /// Submits a request through the socket of the launch in which this command runs.
  /// - Parameter name: what the submission is called within the request of the launch; `nil` for its identifier, with
  ///   the number of the batch if the command of the launch runs once for each batch.
  /// - Returns: the answer, and whether the request of the launch had made the submission before.
  /// - Throws: a `CommandFailure` if the worker does not answer: the launch is over.
  func submit(
    _ submission: LaunchSubmission, name: String?, throughSocket path: String
  ) async throws -> (SubmissionResult, isRepeat: Bool)

  /// Connects to the coordinator of another machine or another user for the first time, and shows it the token.
  /// - Parameter address: `HOST:PORT`, or several separated by commas, of which the first that answers is used.
  /// - Returns: what to keep of the login, and whom the coordinator takes the caller for.
  /// - Throws: `CoordinatorUnreachable` if it is not the fleet with this pin, or does not accept the token; a
  ///   `CommandFailure` with status `usage` if the address is malformed.
  func logIn(_ address: String, _ pin: Pin, _ token: CredentialToken) async throws -> (FleetLogin, Caller)

  /// Runs a coordinator and a worker in this process, for `baton run`. Its host counts as idle, because the person at
  /// it has asked for the work now.
  ///
  /// `prepare` is called first, while no launch can start. `body` is called when the worker takes launches, so that a
  /// job with strategy `fail` can start. When `body` has returned or thrown, coordinator and worker drain, the batches
  /// that run may finish, and the store is closed.
  /// - Returns: what `body` returns.
  /// - Throws: every error of `prepare` and of `body`, after the store has been closed.
  func runEmbedded<Result: Sendable>(
    _ options: RunOptions, prepare: @escaping @Sendable (any OperatorAPI) async throws -> Void,
    _ body: @escaping @Sendable (any OperatorAPI) async throws -> Result
  ) async throws -> Result

  /// Runs a coordinator and a worker in this process until SIGTERM or SIGINT, for `baton up`. The coordinator listens
  /// as that of `baton coordinator` does.
  /// - Parameter started: is called once, when both are ready. If it throws, both end and its error is thrown.
  func runUp(
    _ options: UpOptions, started: @escaping @Sendable (any OperatorAPI) async throws -> Void
  ) async throws

  /// Serves the console until SIGTERM or SIGINT, with the coordinator at `target`. A coordinator that does not answer
  /// is asked again with each page.
  /// - Parameter signIn: is called when the console can be reached, and each time the person presses Enter, with an
  ///   address that signs a browser in once within a minute (`http://baton-7f….localhost:7430/login#4f…`).
  func runConsole(
    _ options: ConsoleOptions, _ target: ConnectionTarget, signIn: @escaping @Sendable (_ address: String) -> Void
  ) async throws

  /// Runs a coordinator until SIGTERM or SIGINT. It then accepts nothing more, closes its streams and returns.
  func runCoordinator(_ options: CoordinatorOptions) async throws

  /// Copies the store in `folder` to the new file `file`; no process may have the store open. See
  /// `SQLiteStore.backUp(folder:to:_:)`.
  func backUpStore(
    in folder: String, to file: String, _ report: @escaping @Sendable (BackupProgress) -> Void
  ) async throws -> BackupSummary

  /// Moves the store that the settings name to PostgreSQL or to a folder; no coordinator may use it. See `StoreMove`.
  func moveStore(
    _ options: CoordinatorOptions, to place: StorePlace, _ move: StoreMove.Options
  ) async throws -> StoreMove.Summary

  /// Gathers the facts of this host, for `baton doctor`. No process of Baton has to run. It writes a scratch file into
  /// the data folder for about a second, and changes nothing else. It takes some seconds.
  func examineHost(_ options: DoctorOptions) async -> HostFacts
}

/// Where a client command connects to.
package struct ConnectionTarget: Hashable, Sendable {
  /// `HOST:PORT`, or several separated by commas, as the person wrote it.
  package var endpoint: String
  /// The file that `BATON_TOKEN_FILE` names; `nil` means the token file that the coordinator published for this user.
  package var tokenFile: String?
  package var fleet: Fleet
  /// The coordinator to connect to, in place of those at `endpoint` or of the login; `nil` for these.
  package var place: CoordinatorPlace?

  package init(endpoint: String, tokenFile: String? = nil, fleet: Fleet = .none) {
    (self.endpoint, self.tokenFile, self.fleet) = (endpoint, tokenFile, fleet)
  }

  /// Whether a login is used in place of `endpoint`.
  package enum Fleet: Hashable, Sendable {
    case none
    /// The login of the fleet with this name, which must exist.
    case named(String)
    /// The login of the fleet `default`, if there is one.
    case preferred
  }

  package static let defaultEndpoint = "127.0.0.1:7420"
}

/// How `baton run` sets up the coordinator and the worker in its process.
package struct RunOptions: Hashable, Sendable {
  /// The absolute path of the folder for the store. The backend creates a missing folder.
  package var dataFolder: String
  /// Whether the backend removes the data folder when `body` has returned, because its state is of no use
  /// afterwards. The folder is removed while its lock is still held, so that no other process can be using it. It
  /// stays if `body` throws.
  package var removesDataFolder: Bool
  /// Slots of the worker in this process; `nil` means one for each core.
  package var slots: Int?
}

/// The settings that flags gave to `baton coordinator`. A property is `nil` if its flag was not given: then the
/// environment, the configuration file or the default decides, in this order.
package struct CoordinatorOptions: Hashable, Sendable {
  package var dataFolder: String?
  /// `HOST:PORT` at which the workers of hosts that have joined are served.
  package var listen: String?
  /// `HOST:PORT` at which health is served over HTTP.
  package var http: String?
  /// `HOST:PORT` at which pokes and metrics are served over HTTPS.
  package var https: String?
  /// `HOST:PORT` at which operators with a credential are served, and hosts join.
  package var operators: String?
  package var leaseTerm: Duration?
  package var configurationFile: String?
}

/// How `baton console` serves the console.
package struct ConsoleOptions: Hashable, Sendable {
  /// `HOST:PORT` on loopback, where port 0 takes a free port; `nil` for 127.0.0.1:7430, or a free port if this one is
  /// taken.
  package var http: String?
  /// The page to show first, such as `/hosts`; `nil` for the overview.
  package var page: String?
  package var isReadOnly: Bool
  /// Whom requests name as their submitter, if the credential does not prove another name.
  package var user: String
  /// The address of a trace in a tracing backend, with `{traceId}` in place of its id; `nil` if there is none.
  package var traceURL: String?
}

/// The settings that flags gave to `baton up`: those of its coordinator, and those of the worker beside it.
package struct UpOptions: Hashable, Sendable {
  package var coordinator = CoordinatorOptions()
  /// `HOST:PORT` at which the console is served on loopback, or `off`; `nil` for 127.0.0.1:7430, or a free port if this
  /// one is taken.
  package var console: String?
  /// Slots of the worker in this process; `nil` means one for each core.
  package var slots: Int?
  /// The path of a worker.yaml for the worker in this process.
  package var workerSettings: String?
}

/// The settings that flags gave to `baton doctor`. What is `nil` is left to the environment, the configuration files
/// and the defaults.
package struct DoctorOptions: Hashable, Sendable {
  package var roles: Set<HostFacts.Role>
  /// The coordinator whose data folder and configuration file are examined.
  package var coordinator: CoordinatorOptions
  package var workerFolder: String?
  /// The path of the worker's worker.yaml.
  package var workerSettings: String?
  /// The coordinator that is asked for its version and its clock. If a worker is examined, the coordinator of the
  /// worker's settings is asked in its place.
  package var target: ConnectionTarget
  /// The coordinator's `HOST:PORT` as a flag gave it. It overrides both `target` and the worker's settings.
  package var address: String?
}
