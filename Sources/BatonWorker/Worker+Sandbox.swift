import BatonBase
import BatonCore
import BatonModel
import BatonProcess
import BatonWire
import Logging
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// How this worker confines commands.
extension Worker {
  /// Finds out what the host can give. Call it before the worker connects, because the coordinator is told once.
  func prepareSandbox(_ folders: WorkerFolders) async {
    let settings = configuration.sandbox
    let sandbox = await SandboxProbe.look(helper: settings.helper, required: settings.required)
    let environment = ProcessInfo.processInfo.environment
    let hidden = configuration.hidden(folders, environment: environment)
    // A command may replace a symbolic link that leads to a hidden path. The path that it leads to now stays hidden.
    let real = hidden.compactMap { SystemCall.realPath(of: $0) }.filter { !hidden.contains($0) }
    let places = [folders.data, settings.secretFolder.path].compactMap { FolderPlace($0) }
    state.withLock { state in
      state.core.announce(sandbox)
      (state.hidden, state.places) = (hidden + real, places)
      state.runtimeFolders = RuntimeFolders(environment: environment)
    }
    guard let required = sandbox.required, sandbox.available.map({ $0 < required }) ?? true else { return }
    logger.warning(
      "no command runs here, because the sandbox '\(required.rawValue)' is not available: \(sandbox.problem)")
  }

  /// The confinement of a command. Call it after `demandPermission`, for each launch: a coordinator of this user may
  /// have started, with another data folder, since the last one.
  func confinement(of work: Work, _ capabilities: Capabilities) -> CommandConfinement {
    let (hidden, runtimeFolders, places) = state.withLock { ($0.hidden, $0.runtimeFolders, $0.places) }
    var confinement = CommandConfinement(
      permissions: capabilities.permissions ?? CommandPermissions(), helper: configuration.sandbox.helper,
      level: capabilities.sandbox?.level(for: work), hidden: hidden + runtimeFolders.dataFolders,
      secrets: configuration.sandbox.secretFolder)
    confinement.places = places
    return confinement
  }
}

extension WorkerConfiguration {
  /// Baton's own files and folders on this host, which commands must not open: those of this worker, those that a
  /// coordinator on this host has, or may have later, and the logins of this user, which have an operator's token.
  func hidden(_ folders: WorkerFolders, environment: [String: String]) -> [String] {
    let runtime = RuntimeFolders(environment: environment)
    let users = [UserFolders.state { environment[$0] }, UserFolders.configuration { environment[$0] }]
    let socket = ownerSocket.flatMap { $0.hasPrefix("/") ? $0 : nil }
    let own = ([folders.data, tokenFile, socket] + users).compactMap { $0 }
    let secrets = [SecretFolder.usualPath, sandbox.secretFolder.path, sandbox.secretFolder.credentials].compactMap(
      \.self)
    let hidden = own + runtime.paths + runtime.publishing + ["/var/lib/baton"] + secrets + sandbox.hidden
    return hidden.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }
}
