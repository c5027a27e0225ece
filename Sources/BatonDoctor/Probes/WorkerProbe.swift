package import BatonHost
package import BatonModel
import BatonProcess

/// Reads the host in the way a worker does, with the worker's own code.
package enum WorkerProbe {
  /// Whether a worker with this data folder can put its launches into control groups.
  package static func groups(for folder: String) -> HostFacts.Groups {
    do throws(SystemError) {
      let groups = try LaunchGroups.found(for: folder)
      return HostFacts.Groups(base: groups.base, hasProcessorTime: ControlGroup(path: groups.base).hasProcessorTime)
    } catch {
      return HostFacts.Groups(base: nil, why: error.description)
    }
  }

  /// The sandbox that this host can give.
  /// - Parameter helper: the path of `baton-exec`; `nil` if it is not known.
  package static func sandbox(_ helper: String?, _ required: SandboxLevel?) async -> HostSandbox {
    await SandboxProbe.look(helper: helper, required: required)
  }

  /// Finds the workers that run on this host.
  /// - Parameter setting: the path of the owner's socket that the worker's settings name; `nil` if they name none.
  package static func owner(environment: [String: String], setting: String?) async -> HostFacts.OwnerSocket {
    HostFacts.OwnerSocket(await OwnerSocketSearch.census(environment: environment, setting: setting))
  }

  /// The present conditions. A probe that does not answer within some seconds gives an unknown reading.
  package static func conditions(_ settings: ConditionSettings) async -> Conditions {
    await ConditionMonitor(settings, own: .init(cpuTime: { .zero }, isWorking: { false })).look()
  }
}

extension HostFacts.OwnerSocket {
  package init(_ census: OwnerSocketSearch.Census) {
    switch (census.workers.count, census.denied.first) {
    case (0, nil): self = .absent("no worker runs on this host as far as this user can see")
    case (0, let path?):
      self = .notPermitted(
        "this user may not ask the worker at \(path): only root, the worker's user and members of the group "
          + "'baton-owner' may")
    case (1, _): self = .answers(path: census.workers[0].path)
    default: self = .several(census.workers.map { "\($0.name) (\($0.path))" })
    }
  }
}
