/// Readings of this process, parsed from files in /proc: https://man7.org/linux/man-pages/man5/proc.5.html.
struct ProcessReadings: Hashable, Sendable {
  /// Processor time in seconds, user and system together.
  var processorSeconds: Double
  var virtualBytes: Double
  var residentBytes: Double
  /// When the process started, in seconds since the start of the system.
  var startedAfterBoot: Double

  /// Parses the content of /proc/self/stat; `nil` if it does not have the expected fields.
  ///
  /// - Parameters:
  ///   - stat: the content of /proc/self/stat.
  ///   - ticks: the number of kernel clock ticks per second.
  init?(stat: String, ticks: Double, pageBytes: Double) {
    // The name of the program is in parentheses and may contain any character, parentheses and spaces included.
    guard let nameEnd = stat.lastIndex(of: ")"), ticks > 0 else { return nil }
    let fields = stat[stat.index(after: nameEnd)...].split(whereSeparator: \.isWhitespace)
    // The first of these fields is number 3 in the manual's table.
    func field(_ number: Int) -> Double? { number - 3 < fields.count ? Double(fields[number - 3]) : nil }
    guard let user = field(14), let system = field(15), let start = field(22), let virtual = field(23),
      let pages = field(24)
    else { return nil }
    processorSeconds = (user + system) / ticks
    startedAfterBoot = start / ticks
    virtualBytes = virtual
    residentBytes = pages * pageBytes
  }

  /// When the system started, in seconds since 1970.
  /// - Parameter stat: the content of /proc/stat.
  static func bootTime(stat: String) -> Double? {
    line("btime ", of: stat).flatMap { Double($0.trimming) }
  }

  /// The soft limit of open files; infinite if there is no limit.
  /// - Parameter limits: the content of /proc/self/limits.
  static func maximumFiles(limits: String) -> Double? {
    guard let word = line("Max open files", of: limits)?.split(separator: " ").first else { return nil }
    return word == "unlimited" ? .infinity : Double(word)
  }

  /// The rest of the first line that begins with `start`.
  private static func line(_ start: String, of text: String) -> Substring? {
    text.split(separator: "\n").first { $0.hasPrefix(start) }?.dropFirst(start.count)
  }
}

extension Substring {
  fileprivate var trimming: Substring { drop(while: \.isWhitespace) }
}
