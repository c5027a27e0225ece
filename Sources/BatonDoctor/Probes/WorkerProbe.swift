package import BatonModel
package import BatonWorker

/// Reads the host as its worker would, with the worker's own code.
package enum WorkerProbe {
  package static func groups(for folder: String) -> HostFacts.Groups {
    do throws(ControlGroupError) {
      let groups = try LaunchGroups.found(for: folder)
      return HostFacts.Groups(base: groups.base, hasProcessorTime: ControlGroup(path: groups.base).hasProcessorTime)
    } catch {
      return HostFacts.Groups(base: nil, why: error.description)
    }
  }

  package static func owner(environment: [String: String], setting: String?) async -> HostFacts.OwnerSocket {
    do throws(OwnerClientError) {
      if let setting {
        _ = try await OwnerClient(path: setting).ask(.status)
        return .answers(path: setting)
      }
      return .answers(path: try await OwnerSocketSearch(environment: environment).path(name: nil))
    } catch {
      return error.code == .notPermitted ? .notPermitted(error.message) : .absent(error.message)
    }
  }

  /// What every probe says now; one that does not answer within some seconds is unknown.
  package static func conditions(_ settings: ConditionSettings) async -> Conditions {
    await ConditionMonitor(settings, own: .init(cpuTime: { .zero }, isWorking: { false })).look()
  }
}
