import BatonModel

/// Findings about the clock, processes, versions and limits.
extension HostFacts {
  var clockFindings: [Finding] { [kernelClock] + coordinators.compactMap(clock) }

  private var kernelClock: Finding {
    let check = "synchronised"
    switch clock.isSynchronised {
    case true?:
      let error = clock.error.map { ", \(String(milliseconds: $0.milliseconds)) off at most" } ?? ""
      return Finding(.clock, check, .ok, "the kernel's clock is synchronised\(error)")
    case false?:
      return Finding(
        .clock, check, .warning,
        "the kernel's clock is not synchronised: dates in definitions, 'hours' and displayed times may be wrong; "
          + "leases and deadlines are not affected",
        remedy: "run chrony or systemd-timesyncd here, or where this virtual machine or container runs")
    case nil: return Finding(.clock, check, .ok, "the kernel does not say whether its clock is synchronised")
    }
  }

  private func clock(of coordinator: Coordinator) -> Finding? {
    let name =
      coordinators.count == 1 ? "the coordinator's clock" : "the clock of the coordinator at \(coordinator.address)"
    guard case .answered(_, let ahead?, let within) = coordinator.answer else { return nil }
    let size = ahead < .zero ? .zero - ahead : ahead
    guard size > within + .seconds(2) else {
      return Finding(.clock, "coordinatorClock", .ok, "\(name) shows the same time, within 2s")
    }
    return Finding(
      .clock, "coordinatorClock", .warning,
      "\(name) is \(size.inWords) \(ahead < .zero ? "behind" : "ahead of") this host's: displayed "
        + "times differ; nothing else is affected",
      remedy: "synchronise both")
  }

  var processFindings: [Finding] {
    guard let groups else { return [] }
    guard let base = groups.base else {
      return [
        Finding(
          .processes, "controlGroups", .warning,
          "launches have no control groups (\(groups.why)): a process that detaches from its launch is found only by a "
            + "sweep; if it also clears its environment, only when the worker has no other launches",
          remedy: "run the worker in a systemd unit with 'Delegate=yes' (Deploy/baton-worker.service)")
      ]
    }
    let share =
      groups.hasProcessorTime
      ? "; a cpuLimit can be enforced there" : "; a cpuLimit cannot be enforced there, only niceness"
    return [
      Finding(
        .processes, "controlGroups", .ok, "each launch can have a control group of its own, below \(base)\(share)")
    ]
  }

  var versionFindings: [Finding] {
    [
      [Finding(.versions, "baton", .ok, "baton \(versions.baton)")], coordinators.map(version),
      roles.contains(.coordinator) ? [Finding(.versions, "sqlite", .ok, "SQLite \(versions.sqlite)")] : [], [kernel],
    ].flatMap { $0 }
  }

  private var kernel: Finding {
    let words = versions.system.split(separator: " ")
    let numbers =
      words.dropFirst().first?.split(separator: ".").prefix(2).compactMap { Int($0.prefix { $0.isNumber }) } ?? []
    guard words.first == "Linux", numbers.count == 2, (numbers[0], numbers[1]) < (5, 14), roles.contains(.worker) else {
      return Finding(.versions, "kernel", .ok, versions.system)
    }
    return Finding(
      .versions, "kernel", .warning, "\(versions.system): Linux before 5.14 cannot kill a control group as a whole",
      remedy: "install a later kernel; until then a sweep finds processes that detached from their launch")
  }

  private func version(of coordinator: Coordinator) -> Finding {
    let check = "coordinator"
    switch coordinator.answer {
    case .answered(let version?, _, _) where version == versions.baton:
      return Finding(.versions, check, .ok, "the coordinator at \(coordinator.address) has the same version")
    case .answered(let version, _, _):
      return Finding(
        .versions, check, .warning,
        "the coordinator at \(coordinator.address) has \(version.map { "version \($0)" } ?? "an unknown version")"
          + ", and this is \(versions.baton)",
        remedy: "upgrade the coordinator first, then the workers: versions that are one step apart work together")
    case .notPermitted(let why):
      return Finding(
        .versions, check, .problem, "the coordinator at \(coordinator.address) does not let \(user.name) in: \(why)",
        remedy: "run as the coordinator's user, or set BATON_TOKEN_FILE to a copy of its token")
    case .unreachable where coordinators.contains(where: \.isThere):
      return Finding(
        .versions, check, .warning,
        "no coordinator answers at \(coordinator.address), and another one of the fleet does",
        remedy: "start it, or take its address out of the settings: while others answer, workers go to them")
    case .unreachable:
      let remedy =
        roles.contains(.coordinator)
        ? nil
        : "start it, or name it: --coordinator; a host on another machine joins the fleet first (baton host invite NAME)"
      return Finding(
        .versions, check, roles.contains(.coordinator) ? .ok : .warning,
        "no coordinator answers at \(coordinator.address)", remedy: remedy)
    }
  }

  var limitFindings: [Finding] { [openFiles, processLimit] }

  /// Each worker has one connection to its coordinator, which accepts at most 10,000 workers. The store, HTTP and
  /// others need a few more files.
  private var openFiles: Finding {
    let check = "openFiles"
    guard let limit = limits.openFiles else { return Finding(.limits, check, .ok, "no limit of open files") }
    let found = "\(limit) open files"
    let remedy =
      limits.openFilesAtMost.map { $0 > limit } ?? true
      ? "raise it: ulimit -n 65536, in a systemd unit LimitNOFILE=65536"
      : "raise it as root: in a systemd unit LimitNOFILE=65536, else in limits.conf(5)"
    if limit < 256 { return Finding(.limits, check, .problem, found + ": too few", remedy: remedy) }
    if roles.contains(.coordinator), limit < 1024 {
      return Finding(.limits, check, .warning, found + ": a coordinator needs one for each worker", remedy: remedy)
    }
    return Finding(
      .limits, check, .ok,
      found + (roles.contains(.coordinator) ? ": room for about \(min(10_000, limit - 100)) workers" : ""))
  }

  private var processLimit: Finding {
    guard let limit = limits.processes else { return Finding(.limits, "processes", .ok, "no limit of processes") }
    guard limit < 256 else { return Finding(.limits, "processes", .ok, "\(limit) processes and threads of this user") }
    return Finding(
      .limits, "processes", .warning,
      "\(limit) processes and threads of this user: too few for commands that start others",
      remedy: "raise it: ulimit -u 4096, in a systemd unit TasksMax=4096 and LimitNPROC=4096")
  }
}

extension HostFacts.Coordinator {
  /// Whether a coordinator listens there.
  fileprivate var isThere: Bool { if case .unreachable = answer { false } else { true } }
}
