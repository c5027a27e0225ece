import BatonBase
import BatonCommands
import BatonCoordinator
import BatonDoctor
import BatonModel
import BatonSettings
import BatonStore
import BatonWire
import BatonWorker
import BatonWorkerSettings

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension LiveBackend {
  /// Collects the facts for `baton doctor`: about the coordinator and the worker, as the options ask, and about the
  /// connection to the coordinator.
  func examineHost(_ options: DoctorOptions) async -> HostFacts {
    var facts = HostFacts()
    facts.roles = options.roles
    (facts.user, facts.clock) = (HostProbe.user(), HostProbe.clock())
    (facts.limits, facts.versions) = (HostProbe.limits(), HostProbe.versions())
    if options.roles.contains(.coordinator) { await examineStore(options.coordinator, &facts) }
    var target = options.target
    if options.roles.contains(.worker), let configuration = await examineWorker(options, &facts) {
      target.endpoint = options.address ?? configuration.coordinator
      target.tokenFile = target.tokenFile ?? configuration.tokenFile
    }
    await askCoordinators(target, &facts)
    return facts
  }

  private func examineStore(_ options: CoordinatorOptions, _ facts: inout HostFacts) async {
    do {
      let setup = try await CoordinatorSetup(options, environment: environment, defaultFolder: "coordinator")
      facts.store = FolderProbe.look(at: setup.dataFolder, syncing: .seconds(1))
      // A data folder may have the file of a store that has moved away.
      facts.database = setup.postgres == nil ? StoreInspection(folder: setup.dataFolder) : nil
      facts.postgres = setup.postgres.map { PostgresInspection($0) }
      facts.holder = HostProbe.holder(of: setup.dataFolder)
      facts.tokens.append(HostProbe.token(setup.dataFolder + "/token", .own))
    } catch {
      facts.mistakes += Self.mistakes("the coordinator's settings", error)
    }
  }

  /// Examines what the worker needs, and returns the configuration with which it would run; `nil` if its settings are
  /// wrong.
  private func examineWorker(_ options: DoctorOptions, _ facts: inout HostFacts) async -> WorkerConfiguration? {
    do {
      let configuration = try await workerConfiguration(options)
      facts.work = FolderProbe.look(at: configuration.dataFolder, syncing: nil)
      facts.sandbox = await WorkerProbe.sandbox(configuration.sandbox.helper, configuration.sandbox.required)
      facts.permissions = configuration.sandbox.permissions(user: facts.user.id)
      facts.groups = WorkerProbe.groups(for: configuration.dataFolder)
      if let file = configuration.tokenFile { facts.tokens.append(HostProbe.token(file, .named)) }
      facts.owner = await WorkerProbe.owner(
        environment: environment, setting: configuration.ownerSocket ?? environment["BATON_OWNER_SOCKET"])
      facts.conditions = await WorkerProbe.conditions(configuration.conditions)
      return configuration
    } catch {
      facts.mistakes += Self.mistakes("the worker's settings", error)
      return nil
    }
  }

  /// One text for each error in settings.
  private static func mistakes(_ subject: String, _ error: any Error) -> [String] {
    ((error as? SettingsError)?.problems ?? ["\(error)"]).map { "\(subject): \($0)" }
  }

  private func workerConfiguration(_ options: DoctorOptions) async throws -> WorkerConfiguration {
    var flags = WorkerSettings.Flags()
    flags.data = options.workerFolder
    flags.config = options.workerSettings
    return try await WorkerSettings(
      flags, environment: environment, hostName: ProcessInfo.processInfo.hostName,
      cores: ProcessInfo.processInfo.activeProcessorCount
    ).configuration
  }

  /// Asks the coordinator at each address of the target.
  private func askCoordinators(_ target: ConnectionTarget, _ facts: inout HostFacts) async {
    do {
      facts.coordinators = []
      for endpoint in try CoordinatorAddresses(parsing: target.endpoint).all {
        let found = tokens(target, endpoint).filter { !facts.tokens.contains($0) }
        facts.tokens += found
        facts.coordinators.append(
          HostFacts.Coordinator(
            address: endpoint.description, answer: try await answer(of: endpoint, tokenFile(target, endpoint, facts))))
      }
    } catch {
      facts.coordinators.append(HostFacts.Coordinator(address: target.endpoint, answer: .unreachable("\(error)")))
      facts.mistakes.append("the coordinator's address: \(error)")
    }
  }

  /// The token file to use: the file that was named. If no file was named and the coordinator's published token is
  /// readable, `nil`, which lets the client find that token. Otherwise the first readable token of those that were
  /// found.
  private func tokenFile(_ target: ConnectionTarget, _ endpoint: HostPort, _ facts: HostFacts) -> String? {
    let published = Self.published(endpoint)
    if let file = target.tokenFile { return file }
    if facts.tokens.contains(where: { $0.path == published && $0.isReadable }) { return nil }
    return facts.tokens.first { $0.isReadable }?.path
  }

  private func tokens(_ target: ConnectionTarget, _ endpoint: HostPort) -> [HostFacts.Token] {
    if let file = target.tokenFile { return [HostProbe.token(file, .named)] }
    return [HostProbe.token(Self.published(endpoint), .published)]
  }

  /// The path where a coordinator of this user publishes its token, whether the file exists or not.
  private static func published(_ endpoint: HostPort) -> String {
    let (folders, name) = (RuntimeFolders(), "\(endpoint.port).token")
    return folders.file(name) ?? (folders.paths.first ?? "") + "/" + name
  }

  private func answer(of endpoint: HostPort, _ tokenFile: String?) async throws -> HostFacts.Coordinator.Answer {
    if let refusal = endpoint.refusal { throw CommandFailure(.usage, refusal) }
    do {
      let before = SystemClocks.now()
      let identity = try await CoordinatorClient.withClient(endpoint, tokenFile: tokenFile) { client, metadata in
        try await CoordinatorIdentity(asking: client, metadata, at: endpoint)
      }
      let took = SystemClocks.instant() - before.instant
      let ahead = identity.date.map { $0.nanoseconds - before.date.nanoseconds - took.nanoseconds / 2 }
      return .answered(version: identity.version, ahead: ahead.map { .nanoseconds($0) }, within: took)
    } catch let error as CoordinatorUnreachable {
      return error.isNotPermitted ? .notPermitted(error.message) : .unreachable(error.message)
    } catch let error as LinkError {
      return error.code == .notPermitted ? .notPermitted(error.description) : .unreachable(error.description)
    } catch let error as TokenFileError {
      return .notPermitted("\(error)")
    }
  }
}
