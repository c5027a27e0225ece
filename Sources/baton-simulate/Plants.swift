import BatonBase
import BatonModel
import BatonSimulation

/// The planted bug of this process, if any, which `BATON_PLANTED_BUG` names. A bug of the cores or the SQL
/// (`PlantedBug`) exists only in a build that was made with them; a bug of the shells (`Breakage`) exists in each
/// build.
enum Plants {
  private static let chosen = getenv("BATON_PLANTED_BUG").map { String(cString: $0) }

  static var breakage: Breakage? { chosen.flatMap(Breakage.named) }

  /// Activates the bug that is named. Returns false and prints a message if this build has no such bug.
  static func choose() -> Bool {
    guard let chosen, breakage == nil else { return true }
    #if PLANTED_BUGS
      PlantedBug.chosen = .named(chosen)
      if PlantedBug.chosen != nil { return true }
    #endif
    print("BATON_PLANTED_BUG=\(chosen): this build has no such bug; baton-simulate --plants names those it has")
    return false
  }

  /// Prints one line for each bug: its name, and what it does.
  static func list() -> Int32 {
    #if PLANTED_BUGS
      for bug in PlantedBug.allCases { print("\(bug)\t\(bug.rawValue)") }
    #endif
    for breakage in Breakage.allCases { print("\(breakage)\t\(breakage.rawValue)") }
    return 0
  }
}
