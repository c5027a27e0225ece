import BatonBase
import BatonCommands
import BatonCoordinator
import BatonExporter
import BatonIdentity
import BatonModel
import BatonProcess
import BatonSettings
import BatonStore
import BatonTelemetry
import BatonWire
import BatonWorker
import Logging
import ServiceLifecycle
import UnixSignals

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Connects the commands of `baton` to real coordinators: over gRPC, or in this process.
struct LiveBackend: Backend {
  let environment: [String: String]

  func connect<Result: Sendable>(
    _ target: ConnectionTarget, _ body: @escaping @Sendable (any OperatorAPI) async throws -> Result
  ) async throws -> Result {
    let login = try login(target.fleet)
    let text = try target.place.map { try Self.address(of: $0, login) } ?? login?.address ?? target.endpoint
    let addresses = try await asUsage { try CoordinatorAddresses(parsing: text).all }
    return try await CoordinatorChoice(addresses).run { endpoint, isOnly in
      let begin: @Sendable (any OperatorAPI) async throws -> Result = { api in
        try await CoordinatorChoice.begin(at: api, isOnly: isOnly, body)
      }
      if let login { return try await connect(endpoint, login, begin) }
      return try await connect(endpoint, tokenFile: target.tokenFile, begin)
    }
  }

  func submit(
    _ submission: LaunchSubmission, name: String?, throughSocket path: String
  ) async throws -> (SubmissionResult, isRepeat: Bool) {
    let reply: SubmissionReply
    do {
      reply = try await SubmissionSocketClient(path: path).submit(submission, name: name)
    } catch let error as SystemError {
      throw CommandFailure(.unavailable, "\(error)")
    }
    guard reply.code == nil, let identifier = reply.identifier.flatMap(JobIdentifier.init), let number = reply.number,
      let state = reply.state.flatMap(RequestState.init)
    else { return (.refused(code: reply.code ?? "unavailable", message: reply.message ?? "no answer"), false) }
    let receipt = SubmissionReceipt(
      request: RequestID(0), identifier: identifier, number: number, state: state,
      eligibleAt: Timestamp(nanoseconds: reply.eligibleAt ?? 0), replaced: reply.replaced ?? false)
    return (.accepted(receipt, traceID: "", warning: nil), reply.isRepeat ?? false)
  }

  /// Where a coordinator serves that another one has named.
  private static func address(of place: CoordinatorPlace, _ login: FleetLogin?) throws -> String {
    guard login != nil else { return place.workers }
    guard let operators = place.operators else {
      throw CoordinatorUnreachable(
        "the coordinator on \(place.name) has to be asked, and takes no operators of other machines (--operators)")
    }
    return operators
  }

  /// Connects to a coordinator of this user through its Unix socket.
  private func connect<Result: Sendable>(
    _ endpoint: HostPort, tokenFile: String?, _ body: @escaping @Sendable (any OperatorAPI) async throws -> Result
  ) async throws -> Result {
    if let refusal = endpoint.refusal { throw CoordinatorUnreachable(refusal) }
    do {
      return try await CoordinatorClient.withClient(endpoint, tokenFile: tokenFile) { client, metadata in
        try await body(OperatorClient(client: client, metadata: metadata, endpoint: endpoint))
      }
    } catch let error as LinkError {
      throw CoordinatorUnreachable(error)
    } catch let error as TokenFileError {
      throw CoordinatorUnreachable("\(error)", isNotPermitted: true)
    }
  }

  /// The login to use; `nil` if none is.
  func login(_ choice: ConnectionTarget.Fleet) throws -> FleetLogin? {
    let folder = UserFolders.configuration { environment[$0] }
    do {
      switch choice {
      case .none: return nil
      case .preferred: return try folder.flatMap { try FleetLogin.read(FleetLogin.defaultName, in: $0) }
      case .named(let name):
        if FleetLogin.isWellFormed(name: name), let folder, let login = try FleetLogin.read(name, in: folder) {
          return login
        }
        let known = folder.map { FleetLogin.names(in: $0) } ?? []
        throw CommandFailure(
          .usage,
          "you are not logged in to a fleet '\(name)': log in with baton login"
            + (known.isEmpty ? "" : "; you are logged in to \(known.joined(separator: ", "))"))
      }
    } catch let error as IdentityError {
      throw CoordinatorUnreachable("\(error)", isNotPermitted: true)
    }
  }

  /// Connects to a coordinator over TLS. The token is sent when the coordinator has been recognised.
  private func connect<Result: Sendable>(
    _ endpoint: HostPort, _ login: FleetLogin, _ body: @escaping @Sendable (any OperatorAPI) async throws -> Result
  ) async throws -> Result {
    try await recognising {
      try await CoordinatorClient.withSecureClient(endpoint, .login(login)) { client, _ in
        try await body(OperatorClient(client: client, token: login.token, endpoint: endpoint))
      }
    }
  }

  func logIn(_ address: String, _ pin: Pin, _ token: CredentialToken) async throws -> (FleetLogin, Caller) {
    let addresses = try await asUsage { try CoordinatorAddresses(parsing: address).all }
    let kept = addresses.map(\.description).joined(separator: ",")
    return try await CoordinatorChoice(addresses).run { endpoint, _ in
      try await recognising {
        try await CoordinatorClient.withSecureClient(endpoint, .pin(pin)) { client, root in
          guard let root else { throw CoordinatorUnreachable("the coordinator showed no root") }
          let api = OperatorClient(client: client, token: token, endpoint: endpoint)
          let caller = try await api.whoAmI()
          return (try FleetLogin(address: kept, root: root, token: token), caller)
        }
      }
    }
  }

  private func recognising<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
      return try await body()
    } catch let error as LinkError {
      throw CoordinatorUnreachable(error)
    } catch let error as IdentityError {
      throw CoordinatorUnreachable("\(error)", isNotPermitted: true)
    }
  }

  // MARK: In this process

  func runEmbedded<Result: Sendable>(
    _ options: RunOptions, prepare: @escaping @Sendable (any OperatorAPI) async throws -> Void,
    _ body: @escaping @Sendable (any OperatorAPI) async throws -> Result
  ) async throws -> Result {
    var settings = CoordinatorSettings()
    settings.endsOnFullDisk = true
    let telemetry = ProcessTelemetry("baton", environment: environment, logger: Self.logger(.warning))
    telemetry.bootstrap()
    let embedded = try await asUsage { [settings] in
      try await Embedded(
        dataFolder: options.dataFolder, host: Embedded.Host(slots: options.slots, isIdle: true),
        environment: environment, logger: Self.logger(.critical), settings: settings, telemetry: telemetry)
    }
    return try await telemetry.running {
      try await embedded.run(removing: options.removesDataFolder ? options.dataFolder : nil, prepare: prepare, body)
    }
  }

  func runUp(
    _ options: UpOptions, started: @escaping @Sendable (any OperatorAPI) async throws -> Void
  ) async throws {
    let setup = try await asUsage {
      try await CoordinatorSetup(options.coordinator, environment: environment, defaultFolder: "up")
    }
    guard setup.postgres == nil else {
      throw CommandFailure(
        .usage, "'baton up' keeps its store in its data folder; for a store in PostgreSQL start 'baton coordinator'")
    }
    let telemetry = ProcessTelemetry("baton", environment: environment, logger: Self.logger(setup.logLevel))
    telemetry.bootstrap()
    let embedded = try await asUsage {
      try await Embedded(
        dataFolder: setup.dataFolder,
        host: Embedded.Host(
          slots: options.slots, settings: options.workerSettings, answersOwner: true,
          coordinator: setup.addresses.workers.port == 0 ? nil : setup.addresses.workers.description),
        environment: environment, logger: Self.logger(setup.logLevel), settings: setup.settings, limits: setup.limits,
        identities: setup.identities, telemetry: telemetry)
    }
    let server = try setup.server(
      for: embedded.coordinator, metrics: telemetry.reader, traceURL: environment["BATON_TRACE_URL"],
      logger: Self.logger(setup.logLevel))
    let address = try await asUsage { try options.console.flatMap { $0 == "off" ? nil : try HostPort(parsing: $0) } }
    let console =
      setup.console == .off || options.console == "off"
      ? [] : [console(of: embedded.coordinator, setup, at: address)]
    // The state has to be restored before the worker can say hello.
    try await embedded.coordinator.restore()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await Self.serve(
          telemetry.services + [server, embedded.worker] + console + [StopNotice.up], setup.logLevel)
      }
      group.addTask {
        try await server.ready()
        await embedded.coordinator.waitForAttachment()
        try await started(embedded.coordinator)
      }
      // `waitForAll` would wait for ever for `ready()` if the server cannot listen. This loop throws the first error.
      for try await _ in group {}
    }
    try await embedded.store.close()
  }

  func runCoordinator(_ options: CoordinatorOptions) async throws {
    let setup = try await asUsage {
      try await CoordinatorSetup(options, environment: environment, defaultFolder: "coordinator")
    }
    // Only the programs of receivers inherit the raised limit.
    DescriptorBudget.raise()
    let daemon = try assembled(setup)
    do {
      try await daemon.coordinator.restore()
      try await Self.serve(daemon.services, setup.logLevel)
    } catch let error as StoreError where error.endsCoordinator {
      throw Self.failure(error, of: daemon.store)
    } catch {
      // An address is in use, for example. Others need not wait until this coordinator seems to stand still.
      try? await daemon.store.close()
      throw error
    }
    try await daemon.store.close()
  }

  /// What a coordinator ends with because of its store. If another coordinator has taken over while this one stood
  /// still, nothing is to be mended: the status tells a service manager to start it again.
  private static func failure(_ error: StoreError, of store: any VerbStore) -> CommandFailure {
    guard error.code == .superseded, store.isShared else { return CommandFailure(error) }
    return CommandFailure(.unavailable, error.message.onOneLine)
  }

  /// A coordinator with its store and all services of its process.
  private struct Daemon {
    var store: any VerbStore
    var coordinator: Coordinator
    var services: [any Service]
  }

  /// This function is not inlined into `runCoordinator`, because the optimizer of Swift 6.3 crashes when it splits the
  /// larger function.
  @inline(never)
  private func assembled(_ setup: CoordinatorSetup) throws -> Daemon {
    let logger = Self.logger(setup.logLevel)
    let telemetry = ProcessTelemetry("baton-coordinator", environment: environment, logger: logger)
    telemetry.bootstrap()
    let (store, coordinator) = try telemetry.coordinator(
      folder: setup.dataFolder, postgres: setup.postgres, setup.settings, setup.limits, identities: setup.identities,
      logger: logger)
    var server: CoordinatorServer
    do {
      server = try setup.server(
        for: coordinator, metrics: telemetry.reader, traceURL: environment["BATON_TRACE_URL"], logger: logger)
    } catch {
      (store as? PostgresStore)?.abandon()
      throw error
    }
    server.onDiskFailure = { error in
      StandardError.say("baton: \(error.message)")
      _exit(Self.failure(error, of: store).status.rawValue)
    }
    return Daemon(
      store: store, coordinator: coordinator, services: telemetry.services + [server, StopNotice.coordinator])
  }

  func backUpStore(
    in folder: String, to file: String, _ report: @escaping @Sendable (BackupProgress) -> Void
  ) async throws -> BackupSummary {
    try await SQLiteStore.backUp(folder: folder, to: file, report)
  }

  func moveStore(
    _ options: CoordinatorOptions, to place: StorePlace, _ move: StoreMove.Options
  ) async throws -> StoreMove.Summary {
    let setup = try await asUsage {
      try await CoordinatorSetup(options, environment: environment, defaultFolder: "coordinator")
    }
    switch (setup.postgres, place) {
    case (nil, .postgres(let address)):
      // Coordinators of another fleet are then refused from the first start on.
      let key = try SecretFile.read(setup.dataFolder + "/receipt.key")
      return try await StoreMove.toPostgres(
        from: setup.dataFolder, to: address, fleet: key.map { ReceiptSeal($0).fleet }, move)
    case (let address?, .folder(let folder)): return try await StoreMove.toFolder(folder, from: address, move)
    case (_?, .postgres):
      throw CommandFailure(.usage, "the settings say that the store is in PostgreSQL: --to is the path of a folder")
    case (nil, .folder):
      throw CommandFailure(
        .usage,
        "the settings say that the store is in the folder \(setup.dataFolder): --to is postgres://USER@HOST/DATABASE. "
          + "To move it from PostgreSQL, set BATON_STORE to where it is")
    }
  }

  /// Runs `body`, and turns errors in flags, the environment or a configuration file into usage errors (exit status
  /// 64).
  func asUsage<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
      return try await body()
    } catch let error as HostPortError {
      throw CommandFailure(.usage, "\(error)")
    } catch let error as SettingsError {
      throw CommandFailure(.usage, "\(error)")
    }
  }

  /// Runs the services until SIGTERM or SIGINT. The last service in the list is shut down first.
  static func serve(_ services: [any Service], _ level: Logger.Level) async throws {
    let group = ServiceGroup(
      configuration: ServiceGroupConfiguration(
        services: services.map { .init(service: $0, successTerminationBehavior: .gracefullyShutdownGroup) },
        gracefulShutdownSignals: [.sigterm, .sigint], logger: logger(max(level, .error))))
    try await group.run()
  }

  static func logger(_ level: Logger.Level) -> Logger {
    var logger = Logger(label: "baton") {
      PlainLogHandler(StreamLogHandler.standardError(label: $0, metadataProvider: .spans))
    }
    logger.logLevel = level
    return logger
  }
}
