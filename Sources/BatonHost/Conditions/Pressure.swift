import BatonBase
import BatonProcess

/// The share of the last 10 s in which processes waited for memory, for disks or for processors: the kernel's pressure
/// stall information (Linux, Documentation/accounting/psi.rst). On a kernel without it, the pressure counts as zero.
struct Pressure: Hashable, Sendable {
  enum Kind: String, CaseIterable { case memory, io, cpu }

  /// Whether processes of Baton may be among those that wait.
  enum Company: Hashable, Sendable {
    case alone
    case besideOwnWork(SystemRoot)
  }

  /// The pressure of each kind, in hundredths of a per cent of the time.
  private var shares: [Kind: Int] = [:]
  /// Why a pressure is not known although the kernel provides it.
  private(set) var gap: String?

  /// No pressure of any kind.
  init() {}

  init(root: SystemRoot) {
    for kind in Kind.allCases {
      let file = "proc/pressure/\(kind.rawValue)"
      switch root.text(file) {
      case .missing: continue
      // The kernel has pressure information, but it is switched off (`psi=0`).
      case .unreadable(SystemCall.explanation(of: EOPNOTSUPP)): continue
      case .unreadable(let why): gap = "\(file): \(why)"
      case .text(let text):
        shares[kind] = Self.share(text)
        if shares[kind] == nil { gap = "\(file) not understood" }
      }
    }
  }

  /// The first kind of pressure that is above its threshold, in words for people; `nil` if none is.
  ///
  /// Baton's own work must not count as use of the host, because it would then expire itself. While it runs, the
  /// processors' pressure does not count, and of the other kinds only the part for which Baton's own control group did
  /// not wait. If that part is not known, the pressure does not count.
  func excess(_ settings: IdleSettings, _ company: Company) -> String? {
    for kind in Kind.allCases {
      let limit = settings.limit(of: kind) * 100
      // The control group's files are read only if the pressure of the whole host is above the limit.
      guard let all = shares[kind], all > limit, let others = others(all, kind, company), others > limit else {
        continue
      }
      return "\(kind) pressure \(others / 100) %"
    }
    return nil
  }

  private func others(_ all: Int, _ kind: Kind, _ company: Company) -> Int? {
    guard case .besideOwnWork(let root) = company else { return all }
    guard kind != .cpu, let group = Self.ownGroup(root), let text = root.string("\(group)/\(kind.rawValue).pressure"),
      let own = Self.share(text)
    else { return nil }
    return all - own
  }

  /// Parses `some avg10=0.22 avg60=…` to hundredths of a per cent.
  private static func share(_ text: String) -> Int? {
    guard text.hasPrefix("some avg10=") else { return nil }
    let number = text.utf8.dropFirst("some avg10=".count).prefix { $0 != UInt8(ascii: " ") }
    let parts = number.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map { Substring($0) }
    guard parts.count == 2, parts[1].utf8.count == 2, let whole = Int(parts[0]), let part = Int(parts[1]),
      (0...100).contains(whole), (0...99).contains(part)
    else {
      return nil
    }
    return whole * 100 + part
  }

  /// The folder of the control group (cgroup version 2) in which Baton and the processes that it started run.
  private static func ownGroup(_ root: SystemRoot) -> String? {
    let lines = root.string("proc/self/cgroup")?.split(separator: "\n") ?? []
    guard let group = lines.first(where: { $0.hasPrefix("0::/") }).map({ "sys/fs/cgroup" + $0.dropFirst(3) }) else {
      return nil
    }
    // A worker with a `cpuLimit` has moved into a leaf group of its own, beside the group of its commands. The parent
    // contains both.
    let above = String(group.dropLast("/worker".count))
    return group.hasSuffix("/worker") && root.exists(above + "/limited") ? above : group
  }
}

extension IdleSettings {
  fileprivate func limit(of kind: Pressure.Kind) -> Int {
    switch kind {
    case .memory: memoryPressure
    case .io: ioPressure
    case .cpu: cpuPressure
    }
  }
}
