import BatonModel
import BatonSimulation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The bug that this process makes, if any: of the cores and the SQL, where the build has those, or of the shells.
enum Plants {
  private static let chosen = getenv("BATON_PLANTED_BUG").map { String(cString: $0) }

  static var breakage: Breakage? { chosen.flatMap(Breakage.named) }

  /// False, with a word, if there is no bug of that name in this build.
  static func choose() -> Bool {
    guard let chosen, breakage == nil else { return true }
    #if PLANTED_BUGS
      PlantedBug.chosen = .named(chosen)
      if PlantedBug.chosen != nil { return true }
    #endif
    print("BATON_PLANTED_BUG=\(chosen): this build has no such bug; baton-simulate --plants names those it has")
    return false
  }

  /// A line each: its name, and what it does.
  static func list() -> Int32 {
    #if PLANTED_BUGS
      for bug in PlantedBug.allCases { print("\(bug)\t\(bug.rawValue)") }
    #endif
    for breakage in Breakage.allCases { print("\(breakage)\t\(breakage.rawValue)") }
    return 0
  }
}
