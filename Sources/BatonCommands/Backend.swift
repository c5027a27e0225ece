package import BatonCoordinator
package import BatonDoctor
package import BatonStore

/// What the commands need beside parsing and printing: coordinators, here or elsewhere. The binary assembles the real
/// one; tests have another.
package protocol Backend: Sendable {
  /// Calls `body` with a coordinator that listens elsewhere.
  /// - Throws: `CoordinatorUnreachable` within five seconds if nobody answers or the token is not taken, a
  ///   `CommandFailure` with status `usage` if the target is malformed, and what `body` throws. A connection that is
  ///   lost later makes the calls of `body` throw `CoordinatorUnreachable`.
  func connect<Result: Sendable>(
    _ target: ConnectionTarget, _ body: @escaping @Sendable (any OperatorAPI) async throws -> Result
  ) async throws -> Result

  /// A coordinator and a worker in this process, for `baton run`; its host counts as idle. `body` is called when the
  /// worker takes launches, so that a job with strategy `fail` can start. Before that, while nothing can start yet,
  /// `prepare` is called. Once `body` has returned or
  /// thrown, both drain, the running batches may finish, and the store is closed. Then what `body` threw is thrown.
  func runEmbedded<Result: Sendable>(
    _ options: RunOptions, prepare: @escaping @Sendable (any OperatorAPI) async throws -> Void,
    _ body: @escaping @Sendable (any OperatorAPI) async throws -> Result
  ) async throws -> Result

  /// A coordinator and a worker in this process, which listens like `baton coordinator` and stays until SIGTERM or
  /// SIGINT. `started` is called once, when both are ready; if it throws, both end and the error is thrown.
  func runUp(
    _ options: UpOptions, started: @escaping @Sendable (any OperatorAPI) async throws -> Void
  ) async throws

  /// A coordinator that stays until SIGTERM or SIGINT, then stops accepting, closes streams and returns.
  func runCoordinator(_ options: CoordinatorOptions) async throws

  /// Copies the store in `folder`, which no process may have open, to a new file: `SQLiteStore.backUp(folder:to:_:)`.
  func backUpStore(
    in folder: String, to file: String, _ report: @escaping @Sendable (BackupProgress) -> Void
  ) async throws -> BackupSummary

  /// What there is to know of this host, for `baton doctor`. Nothing needs to run here; a scratch file is made in the
  /// data folder, and nothing else is changed. It takes some seconds.
  func examineHost(_ options: DoctorOptions) async -> HostFacts
}

/// Where a client command connects to.
package struct ConnectionTarget: Hashable, Sendable {
  /// `HOST:PORT` as the person wrote it.
  package var endpoint: String
  /// What `BATON_TOKEN_FILE` names; nil means the token that the coordinator published for this user.
  package var tokenFile: String?

  package static let defaultEndpoint = "127.0.0.1:7420"

  package init(endpoint: String, tokenFile: String? = nil) {
    self.endpoint = endpoint
    self.tokenFile = tokenFile
  }
}

/// What `baton run` was asked for.
package struct RunOptions: Hashable, Sendable {
  /// Absolute; made if it is not there.
  package var dataFolder: String
  /// The state of the folder is of no use once `body` has returned: the backend then removes the folder when the store
  /// is closed, unless another process has locked it since. It stays if `body` throws.
  package var removesDataFolder: Bool
  /// Slots of this process's worker; nil means as many as its cores.
  package var slots: Int?

  package init(dataFolder: String, removesDataFolder: Bool, slots: Int? = nil) {
    self.dataFolder = dataFolder
    self.removesDataFolder = removesDataFolder
    self.slots = slots
  }
}

/// What `baton coordinator` was asked for. What is nil was not given: the environment, the configuration file or the
/// default decides.
package struct CoordinatorOptions: Hashable, Sendable {
  package var dataFolder: String?
  /// `HOST:PORT` of gRPC.
  package var listen: String?
  /// `HOST:PORT` of health, metrics and the dashboard.
  package var http: String?
  package var leaseTerm: Duration?
  package var configurationFile: String?

  package init(
    dataFolder: String? = nil, listen: String? = nil, http: String? = nil, leaseTerm: Duration? = nil,
    configurationFile: String? = nil
  ) {
    self.dataFolder = dataFolder
    self.listen = listen
    self.http = http
    self.leaseTerm = leaseTerm
    self.configurationFile = configurationFile
  }
}

/// What `baton up` was asked for: a coordinator, and a worker beside it.
package struct UpOptions: Hashable, Sendable {
  package var coordinator: CoordinatorOptions
  /// Slots of this process's worker; nil means as many as its cores.
  package var slots: Int?
  /// A worker.yaml for this process's worker.
  package var workerSettings: String?

  package init(
    coordinator: CoordinatorOptions = CoordinatorOptions(), slots: Int? = nil, workerSettings: String? = nil
  ) {
    self.coordinator = coordinator
    self.slots = slots
    self.workerSettings = workerSettings
  }
}

/// What `baton doctor` was asked for. What is nil is left to the environment, the configuration files and the defaults.
package struct DoctorOptions: Hashable, Sendable {
  package var roles: Set<HostFacts.Role>
  /// Its data folder and configuration file are looked at.
  package var coordinator: CoordinatorOptions
  package var workerFolder: String?
  /// A worker.yaml.
  package var workerSettings: String?
  /// Asked for its version and its clock, if it answers; with a worker, the one that the worker would connect to.
  package var target: ConnectionTarget
  /// What a flag says of where it listens, which counts for more than the worker's settings.
  package var address: String?

  package init(
    roles: Set<HostFacts.Role>, coordinator: CoordinatorOptions, workerFolder: String?, workerSettings: String?,
    target: ConnectionTarget, address: String? = nil
  ) {
    self.roles = roles
    self.coordinator = coordinator
    self.workerFolder = workerFolder
    self.workerSettings = workerSettings
    self.target = target
    self.address = address
  }
}
