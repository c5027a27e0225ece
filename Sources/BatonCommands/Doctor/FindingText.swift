import BatonDoctor
import BatonModel

/// The findings as text: a block for each area, with each finding on a line and its remedy on the next.
func findingLines(_ findings: [Finding], _ style: Style) -> [String] {
  Finding.Area.allCases.flatMap { area -> [String] in
    let found = findings.filter { $0.area == area }
    return found.isEmpty ? [] : [style.bold(area.rawValue)] + found.flatMap { lines(of: $0, style) }
  }
}

private func lines(of finding: Finding, _ style: Style) -> [String] {
  let level = style.paint(finding.level.rawValue.padded(to: levelWidth), finding.level.colour)
  let remedy = finding.remedy.map { ["  " + String(repeating: " ", count: levelWidth) + "  do: " + $0.onOneLine] } ?? []
  return ["  \(level)  \(finding.found.onOneLine)"] + remedy
}

private let levelWidth = Finding.Level.allCases.map(\.rawValue.count).max() ?? 0

/// The summary of the findings: `2 problems and 1 warning on this host`.
func summary(of findings: [Finding]) -> String {
  let problems = findings.count { $0.level == .problem }
  let warnings = findings.count { $0.level == .warning }
  let parts = [
    problems > 0 ? counted(problems, "problem") : nil, warnings > 0 ? counted(warnings, "warning") : nil,
  ].compactMap { $0 }
  return parts.isEmpty ? "nothing is wrong with this host" : parts.joined(separator: " and ") + " on this host"
}

extension Finding.Level {
  fileprivate var colour: Style.Colour {
    switch self {
    case .ok: .green
    case .warning: .yellow
    case .problem: .red
    }
  }
}
