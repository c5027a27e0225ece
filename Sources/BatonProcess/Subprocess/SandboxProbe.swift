package import BatonModel

/// Finds out which sandbox this host can give, by applying it to a process that does nothing but look around in it.
package enum SandboxProbe {
  /// - Parameters:
  ///   - helper: the path of `baton-exec`; `nil` if it is not known.
  ///   - required: the level that the host's owner requires, which the answer repeats.
  package static func look(
    helper: String?, required: SandboxLevel?, commands: SystemCommand = .system
  ) async -> HostSandbox {
    func none(_ why: String) -> HostSandbox { HostSandbox(required: required, problem: HostSandbox.cut(why)) }
    guard let helper else { return none("this system has no sandbox") }
    switch await commands.run([helper, "--probe"], .seconds(5)) {
    case .missing: return none("there is no \(helper): install \(Fence.helperName) beside the worker's program")
    case .failed(let why): return none("\(Fence.helperName) does not work: \(why)")
    case .output(let text):
      let line = text.split(separator: "\n").first ?? ""
      if line == SandboxLevel.strict.rawValue { return HostSandbox(required: required, available: .strict) }
      if line.hasPrefix("basic: ") {
        return HostSandbox(
          required: required, available: .basic, problem: HostSandbox.cut(String(line.dropFirst("basic: ".count))))
      }
      return none(line.hasPrefix("none: ") ? String(line.dropFirst(6)) : "\(helper) is not Baton's")
    }
  }
}

extension HostSandbox {
  /// The longest problem that a coordinator accepts, in bytes.
  package static let maximumProblemBytes = 255

  fileprivate static func cut(_ problem: String) -> String {
    var scalars = problem.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : $0 }
    while scalars.reduce(0, { $0 + $1.utf8.count }) > maximumProblemBytes { scalars.removeLast() }
    return String(String.UnicodeScalarView(scalars))
  }
}
