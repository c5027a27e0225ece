/// What the kernel says of this process, read from the texts of /proc: https://man7.org/linux/man-pages/man5/proc.5.html.
struct ProcessReadings: Hashable, Sendable {
  /// Processor time, user and system, in seconds.
  var processorSeconds: Double
  var virtualBytes: Double
  var residentBytes: Double
  /// Seconds since the system started.
  var startedAfterBoot: Double

  /// - Parameters:
  ///   - stat: the text of /proc/self/stat.
  ///   - ticks: how many of the kernel's ticks make a second.
  init?(stat: String, ticks: Double, pageBytes: Double) {
    // The name of the program stands in parentheses and may hold anything, parentheses and spaces too.
    guard let nameEnd = stat.lastIndex(of: ")"), ticks > 0 else { return nil }
    let fields = stat[stat.index(after: nameEnd)...].split(whereSeparator: \.isWhitespace)
    // The first of them is the third of the manual's table.
    func field(_ number: Int) -> Double? { number - 3 < fields.count ? Double(fields[number - 3]) : nil }
    guard let user = field(14), let system = field(15), let start = field(22), let virtual = field(23),
      let pages = field(24)
    else { return nil }
    processorSeconds = (user + system) / ticks
    startedAfterBoot = start / ticks
    virtualBytes = virtual
    residentBytes = pages * pageBytes
  }

  /// When the system started, in seconds since 1970; from the text of /proc/stat.
  static func bootTime(stat: String) -> Double? {
    line("btime ", of: stat).flatMap { Double($0.trimming) }
  }

  /// The soft limit of open files; from the text of /proc/self/limits. Infinite where there is none.
  static func maximumFiles(limits: String) -> Double? {
    guard let word = line("Max open files", of: limits)?.split(separator: " ").first else { return nil }
    return word == "unlimited" ? .infinity : Double(word)
  }

  /// What comes after `start` in the line that begins with it.
  private static func line(_ start: String, of text: String) -> Substring? {
    text.split(separator: "\n").first { $0.hasPrefix(start) }?.dropFirst(start.count)
  }
}

extension Substring {
  fileprivate var trimming: Substring { drop(while: \.isWhitespace) }
}
