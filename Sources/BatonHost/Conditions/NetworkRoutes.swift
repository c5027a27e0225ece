import BatonProcess

/// The routes of a network namespace: the main table of IPv4 and all tables of IPv6, as `proc/net/route` and
/// `proc/net/ipv6_route` list them (Linux, Documentation/filesystems/proc.rst).
struct NetworkRoutes: Hashable, Sendable {
  struct Route: Hashable, Sendable {
    var interface: String
    /// The kernel prefers routes with a lower metric.
    var metric: Int
    var isDefault: Bool
  }

  /// The usable routes, the best first.
  private(set) var routes: [Route] = []
  /// Why some of the routes could not be read.
  private(set) var gaps: [String] = []

  /// Reads the routes that are up, do not reject packets, and do not lead over `lo`.
  init(root: SystemRoot, folder: String) {
    let tables = [
      ("\(folder)/route", root.text("\(folder)/route"), Self.version4),
      ("\(folder)/ipv6_route", root.text("\(folder)/ipv6_route"), Self.version6),
    ]
    for (file, text, parse) in tables {
      switch text {
      case .text(let text): add(parse(text), file)
      case .unreadable(let why): gaps.append("\(file): \(why)")
      case .missing: continue
      }
    }
    if tables.allSatisfy({ $0.1 == .missing }) { gaps.append("no \(folder)/route") }
    // Routes with the same metric keep their order, so that IPv4 comes first.
    routes = routes.enumerated().sorted { ($0.element.metric, $0.offset) < ($1.element.metric, $1.offset) }.map(
      \.element)
  }

  var defaults: [Route] { routes.filter(\.isDefault) }

  private mutating func add(_ routes: [Route]?, _ file: String) {
    if let routes { self.routes += routes } else { gaps.append("\(file): not understood") }
  }

  /// `RTF_UP` and `RTF_REJECT` of <linux/route.h>. The kernel shows blackhole routes as rejecting too.
  private static let (up, reject) = (UInt32(0x1), UInt32(0x200))

  /// Parses a heading, then lines of `Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT`. The
  /// numbers are hexadecimal, except for the counts and the metric. In a namespace that never had a route, even the
  /// heading is missing.
  private static func version4(_ text: String) -> [Route]? {
    let lines = text.utf8.split(separator: UInt8(ascii: "\n"))
    guard let heading = lines.first else { return [] }
    guard heading.starts(with: "Iface".utf8) else { return nil }
    return all(lines.dropFirst()) { columns in
      guard columns.count >= 8, let flags = hexadecimal(columns[3]), let metric = decimal(columns[6]),
        let destination = hexadecimal(columns[1]), let mask = hexadecimal(columns[7])
      else { return nil }
      return (columns[0], flags, metric, destination == 0 && mask == 0)
    }
  }

  /// Parses lines of `destination, its prefix, source, its prefix, gateway, metric, references, uses, flags,
  /// interface`. The numbers are hexadecimal.
  private static func version6(_ text: String) -> [Route]? {
    all(text.utf8.split(separator: UInt8(ascii: "\n"))) { columns in
      guard columns.count >= 10, columns[0].count == 32, let prefix = hexadecimal(columns[1]),
        let metric = hexadecimal(columns[5]), let flags = hexadecimal(columns[8])
      else { return nil }
      let leadsAnywhere = prefix == 0 && columns[0].allSatisfy { $0 == UInt8(ascii: "0") }
      return (columns[9], flags, Int(metric), leadsAnywhere)
    }
  }

  private typealias Column = Substring.UTF8View
  private typealias Fields = (interface: Column, flags: UInt32, metric: Int, isDefault: Bool)

  /// Returns `nil` if a line cannot be parsed. The last line may be incomplete, because only the first part of a long
  /// table is read.
  private static func all(_ lines: some Collection<Column>, _ parse: ([Column]) -> Fields?) -> [Route]? {
    var routes: [Route] = []
    for (place, line) in lines.enumerated() {
      let columns = line.split(whereSeparator: { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") })
      guard let fields = parse(columns) else {
        if place > 0 && place == lines.count - 1 { break }
        return nil
      }
      guard fields.flags & up != 0, fields.flags & reject == 0, !fields.interface.elementsEqual("lo".utf8) else {
        continue
      }
      routes.append(
        Route(interface: String(Substring(fields.interface)), metric: fields.metric, isDefault: fields.isDefault))
    }
    return routes
  }

  private static func hexadecimal(_ text: Column) -> UInt32? { UInt32(Substring(text), radix: 16) }
  private static func decimal(_ text: Column) -> Int? { Int(Substring(text)) }
}
