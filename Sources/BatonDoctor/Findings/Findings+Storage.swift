import BatonModel
import BatonStore

/// Findings about data folders: their file system, their free room, their permissions, and how fast writes are durable.
extension HostFacts {
  var storageFindings: [Finding] {
    // The writes of a store in PostgreSQL are not as fast as this disk.
    (store.map {
      $0.findings(named: "data folder", user: user, isStore: true, measures: postgres == nil) + databaseFindings
        + postgresFindings
    } ?? [])
      + (work.map { $0.findings(named: "worker's folder", user: user, isStore: false) } ?? [])
  }

  private var postgresFindings: [Finding] { replicationFindings + [history].compactMap { $0 } }

  /// Whether the server has another history than before.
  private var history: Finding? {
    guard case .found(_, _, let history?) = postgres?.state else { return nil }
    let check = "history"
    let point = "server \(history.present.system), timeline \(history.present.timeline)"
    guard let change = history.change else { return Finding(.storage, check, .ok, "\(point), as before") }
    if let time = history.noticedAt {
      return Finding(.storage, check, .ok, "\(point): \(change); a coordinator that started has said so at \(time)")
    }
    return Finding(
      .storage, check, .warning, "\(point): \(change), since the last start of a coordinator",
      remedy: "look whether the newest requests and checkpoints are there, and restart the coordinators")
  }

  /// What the server's replication means for a commit that was answered.
  private var replicationFindings: [Finding] {
    guard let postgres else { return [] }
    func finding(_ level: Finding.Level, _ found: String, _ remedy: String? = nil) -> [Finding] {
      [Finding(.storage, "replication", level, "\(postgres.address) \(found)", remedy: remedy)]
    }
    switch postgres.state {
    case .unreachable(let why):
      return finding(.problem, "cannot be used: \(why)", "correct the setting 'store', or the server")
    case .moved(let place):
      return [
        Finding(
          .storage, "database", .warning,
          "the store is not in \(postgres.address): it moved, or is moving, from or to \(place)",
          remedy: HostFacts.whereItIs)
      ]
    case .found(.isStandby, _, _):
      return finding(
        .problem, "is a standby, which takes no writes",
        "name the primary, or all servers with target_session_attrs=read-write")
    case .found(.none, _, _):
      return finding(
        .ok, "has no standby: what was answered comes back with the server's disk, or with a backup up to its time")
    case .found(.asynchronous(let connected), _, _):
      return finding(
        .warning,
        "has \(connected) standby(s) that no commit waits for: a failover may lose what was answered; this is noticed, and "
          + "the fleet is paused",
        "set synchronous_standby_names, if answered commits have to survive the loss of the server")
    case .found(.synchronous(let names, 0), _, _):
      return finding(
        .problem,
        "waits for a standby (synchronous_standby_names = \(names)), and none is connected: no commit is answered",
        "start the standby, or empty synchronous_standby_names")
    case .found(.synchronous(let names, _), let commit, _):
      return finding(
        .ok,
        "waits for a standby (synchronous_standby_names = \(names), synchronous_commit = \(commit)): what was answered "
          + "survives a failover to it")
    }
  }

  private static let whereItIs =
    "set 'store' (BATON_STORE) to where it is; a coordinator that starts here looks for it there, and finishes a move "
    + "that was interrupted"

  private var databaseFindings: [Finding] {
    guard let database else { return [] }
    let use = holder.map { "; process \($0) has it open" } ?? ""
    switch database.state {
    case .missing: return [Finding(.storage, "database", .ok, "there is no database yet; the coordinator creates it")]
    case .inLog:
      return [
        Finding(
          .storage, "database", .ok,
          "its content is still in the write-ahead log, so its version cannot be read from outside\(use)")
      ]
    case .current: return [Finding(.storage, "database", .ok, "its schema is this version's\(use)")]
    case .older(let missing):
      return [
        Finding(
          .storage, "database", .ok,
          "its schema is an older version's: this one brings it up to date when it starts (\(missing) steps)\(use)")
      ]
    case .newer:
      return [
        Finding(
          .storage, "database", .problem, "it was written by a newer version of Baton\(use)",
          remedy: "install that version, or a later one: this one does not open it")
      ]
    case .moved(let place):
      return [
        Finding(
          .storage, "database", .warning, "the store is not here: it moved, or is moving, from or to \(place)",
          remedy: HostFacts.whereItIs)
      ]
    case .foreign:
      return [
        Finding(
          .storage, "database", .problem, "\(database.path) is the database of another program",
          remedy: "give Baton a folder of its own: --data")
      ]
    case .unreadable(let why):
      let level: Finding.Level = holder == nil ? .problem : .ok
      let advice = holder == nil ? "if a coordinator refuses it, too: restore a backup" : nil
      return [
        Finding(.storage, "database", level, "its schema cannot be read from outside: \(why)\(use)", remedy: advice)
      ]
    }
  }
}

extension HostFacts.Folder {
  fileprivate func findings(
    named name: String, user: HostFacts.User, isStore: Bool, measures: Bool = false
  ) -> [Finding] {
    let suffix = isStore ? "" : "Worker"
    let place = place(name, user, "folder" + suffix)
    guard isFolder else { return [place] }
    let kind = isStore ? [fileSystem] : []
    let speed = measures ? [speed].compactMap { $0 } : []
    return [place] + kind + [space("space" + suffix), files("inodes" + suffix)].compactMap { $0 } + speed
  }

  private func place(_ name: String, _ user: HostFacts.User, _ check: String) -> Finding {
    func finding(_ level: Finding.Level, _ found: String, _ remedy: String? = nil) -> Finding {
      Finding(.storage, check, level, "the \(name) \(path) " + found, remedy: remedy)
    }
    guard isFolder else {
      return finding(
        .problem, "is not a folder: \(nearest) is another kind of file", "remove it, or name another (--data)")
    }
    if let failure {
      let what = exists ? "cannot be written" : "cannot be made: \(nearest) cannot be written"
      return finding(
        .problem, "\(what) by \(user.name) (\(failure))",
        room?.isReadOnly == true
          ? "its disk is mounted read-only: mount it for writing, or give Baton another folder (--data)"
          : "make room, or correct its owner and mode, or give Baton another folder (--data)")
    }
    guard exists else { return finding(.ok, "is not there yet and can be made") }
    if owner != user.id {
      return finding(
        .warning, "belongs to user \(owner), and this is \(user.name) (\(user.id))",
        "if that is the user that Baton runs as, look again as that user: sudo -u '#\(owner)' baton doctor")
    }
    guard mode & 0o077 == 0 else {
      return finding(
        .warning, "can be entered by other users (mode \(mode.inOctal)): they may read what jobs were given",
        "chmod 700 \(path)")
    }
    return finding(.ok, "is \(user.name)'s alone (mode \(mode.inOctal)) and can be written")
  }

  private var fileSystem: Finding {
    guard let mount else {
      return Finding(.storage, "fileSystem", .ok, "the system does not say what \(nearest) is on")
    }
    let found = "\(nearest) is on \(mount.kind) (\(mount.device))"
    if mount.isShared {
      return Finding(
        .storage, "fileSystem", .problem, found + ": a coordinator refuses network file systems",
        remedy: "give Baton a folder on a local disk: --data")
    }
    if ["tmpfs", "ramfs"].contains(mount.kind) {
      return Finding(
        .storage, "fileSystem", .warning, found + ": in memory, so all requests are gone when the host restarts",
        remedy: "give Baton a folder on a disk: --data")
    }
    if mount.kind == "overlay" {
      return Finding(
        .storage, "fileSystem", .warning, found + ": its data is lost when the container is removed",
        remedy: "mount a volume there, or name one: --data")
    }
    if let option = mount.options.first(where: { Self.careless.contains($0) }) {
      return Finding(
        .storage, "fileSystem", .problem,
        found + ", mounted with '\(option)': a power cut can lose what was acknowledged",
        remedy: "mount it without that option")
    }
    return Finding(.storage, "fileSystem", .ok, found)
  }

  /// Mount options with which `fsync` does not reach the disk (ext4(5), xfs(5), btrfs(5)).
  private static let careless: Set<String> = ["nobarrier", "barrier=0"]

  private func space(_ check: String) -> Finding? {
    guard let room else { return nil }
    let found = "\(room.freeBytes.inBytes) free on the file system of \(nearest)"
    if room.freeBytes < 64 << 20 {
      return Finding(.storage, check, .problem, found, remedy: "make room: when the disk is full, new work is refused")
    }
    if room.freeBytes < 1 << 30 {
      return Finding(.storage, check, .warning, found, remedy: "make room: a million requests take about 1 GiB")
    }
    return Finding(.storage, check, .ok, found)
  }

  /// The finding about free inodes; `nil` unless there are few of them.
  private func files(_ check: String) -> Finding? {
    guard let files = room?.freeFiles, files < 10_000 else { return nil }
    return Finding(
      .storage, check, files < 100 ? .problem : .warning, "\(files) inodes free on the file system of \(nearest)",
      remedy: "remove small files there, or give Baton another file system (--data)")
  }

  private var speed: Finding? {
    guard let syncs, syncs.count > 0 else { return nil }
    let rate = Int(syncs.perSecond.rounded())
    let each = String(milliseconds: syncs.lasted.milliseconds / Double(syncs.count))
    let found =
      "\(rate) durable writes per second (\(each) each, the slowest "
      + "\(String(milliseconds: syncs.slowest.milliseconds))): at most as many commits, each of up to 128 waiting "
      + "checkpoints or submissions"
    if mount.map({ ["tmpfs", "ramfs"].contains($0.kind) }) == true {
      return Finding(.storage, "sync", .ok, "\(rate) writes per second, in memory: nothing is durable there")
    }
    if rate > Self.incredible {
      return Finding(
        .storage, "sync", .warning, found + "; no disk is that fast, so fsync probably does not reach the disk",
        remedy:
          "have the disk, its controller or the virtual machine honour flushes: a power cut loses what was acknowledged"
      )
    }
    if rate < 10 || syncs.slowest > .seconds(5) {
      return Finding(
        .storage, "sync", .problem, found, remedy: "give Baton a faster disk: workers wait for each checkpoint")
    }
    if rate < 100 {
      return Finding(
        .storage, "sync", .warning, found,
        remedy:
          "a disk with a protected write cache, or an SSD, is faster; with few, long batches the speed does not matter")
    }
    return Finding(.storage, "sync", .ok, found)
  }

  /// Durable writes per second above which a measurement is not believed. An NVMe disk with a protected cache takes
  /// about 20 microseconds for a write and a flush, one after the other, so about 50,000 per second.
  private static let incredible = 60_000
}

extension UInt32 {
  /// The mode in octal, such as `0644`.
  var inOctal: String {
    let digits = String(self & 0o7777, radix: 8)
    return String(repeating: "0", count: Swift.max(0, 4 - digits.utf8.count)) + digits
  }
}

extension String {
  /// Milliseconds in a readable form: `0.24 ms`, `12 ms`.
  init(milliseconds: Double) {
    let hundredths = Int((milliseconds * 100).rounded())
    let rest = hundredths % 100
    self = hundredths >= 1000 ? "\(hundredths / 100) ms" : "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest) ms"
  }
}

extension Int64 {
  /// Bytes in a readable form: `640 B`, `1.5 GiB`.
  var inBytes: String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"]
    var (value, unit) = (Double(Swift.max(0, self)), 0)
    while value >= 1024, unit < units.count - 1 { (value, unit) = (value / 1024, unit + 1) }
    let tenths = Int64((value * 10).rounded(.down))
    return unit == 0 ? "\(self) B" : "\(tenths / 10).\(tenths % 10) \(units[unit])"
  }
}
