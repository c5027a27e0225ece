#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// How long something waited for memory, disks or processors during the last 10 s, as the kernel's pressure stall
/// information says (Linux, Documentation/accounting/psi.rst). A kernel without it says nothing, which counts as none.
struct Pressure: Hashable, Sendable {
  enum Kind: String, CaseIterable { case memory, io, cpu }

  /// Whether something of Baton's own may be what waits.
  enum Company: Hashable, Sendable {
    case alone
    case besideOwnWork(SystemRoot)
  }

  /// In hundredths of a per cent of the time.
  private var shares: [Kind: Int] = [:]
  /// Why one is not known although the kernel should say it.
  private(set) var gap: String?

  /// None at all.
  init() {}

  init(root: SystemRoot) {
    for kind in Kind.allCases {
      let file = "proc/pressure/\(kind.rawValue)"
      switch root.text(file) {
      case .missing: continue
      // Built in and switched off (`psi=0`).
      case .unreadable(SystemCall.explanation(of: EOPNOTSUPP)): continue
      case .unreadable(let why): gap = "\(file): \(why)"
      case .text(let text):
        shares[kind] = Self.share(text)
        if shares[kind] == nil { gap = "\(file) not understood" }
      }
    }
  }

  /// The first that is over its threshold, for people.
  ///
  /// Own work must not evict itself: beside it the processors' pressure does not count, and of the rest only what
  /// Baton's own control group did not wait for, too. Where that is not known, nothing counts.
  func excess(_ settings: IdleSettings, _ company: Company) -> String? {
    for kind in Kind.allCases {
      let limit = settings.limit(of: kind) * 100
      // The group is looked up only when it matters.
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

  /// `some avg10=0.22 avg60=…`.
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

  /// The folder of the control group that Baton runs in, with all that it started (cgroup version 2).
  private static func ownGroup(_ root: SystemRoot) -> String? {
    let lines = root.string("proc/self/cgroup")?.split(separator: "\n") ?? []
    guard let group = lines.first(where: { $0.hasPrefix("0::/") }).map({ "sys/fs/cgroup" + $0.dropFirst(3) }) else {
      return nil
    }
    // A worker with a `cpuLimit` has moved to a leaf, beside its commands.
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
