package import BatonCoordinator
package import BatonModel

/// The obstacles of an explanation over all hosts: on how many hosts each stands, and on how many it is the only one.
package struct ObstacleSummary: Hashable {
  package typealias Row = ExplainedGroups.Row

  /// Hosts with the same obstacles, in the order of the explanation.
  package struct Group: Hashable {
    package var codes: [String]
    /// The hosts, or the first ones of them.
    package var hosts: [HostName]
    /// How many hosts there are.
    package var count: Int
  }

  /// The obstacle first that alone keeps the request off most hosts.
  package var rows: [Row] = []
  /// The group first that is nearest to taking the request.
  package var groups: [Group] = []
  /// How many groups come after these.
  package var moreGroups = 0

  /// The summary that the coordinator has made.
  package init(_ groups: ExplainedGroups) {
    rows = groups.rows
    self.groups = groups.groups.map { Group(codes: $0.codes, hosts: $0.names, count: $0.count) }
    moreGroups = groups.moreGroups
  }

  /// - Parameter free: the hosts without an obstacle.
  package init(_ lines: [Explanation.Line], free: [HostName]) {
    var codes: [HostName: [String]] = [:]
    var names = free
    for line in lines {
      guard let host = line.host else { continue }
      if codes[host] == nil { names.append(host) }
      codes[host, default: []].append(line.code)
    }
    var (places, found): ([[String]: Int], [String: Row]) = ([:], [:])
    for name in names {
      let own = (codes[name] ?? []).unique
      for code in own {
        found[code, default: Row(code: code, hosts: 0, alone: 0)].hosts += 1
        if own.count == 1 { found[code]?.alone += 1 }
      }
      if let place = places[own] {
        groups[place].hosts.append(name)
        groups[place].count += 1
      } else {
        places[own] = groups.count
        groups.append(Group(codes: own, hosts: [name], count: 1))
      }
    }
    rows = found.values.sorted { ($1.alone, $1.hosts, $0.code) < ($0.alone, $0.hosts, $1.code) }
  }
}

extension ObstacleSummary.Group {
  /// How many hosts of a group are named.
  private static let named = 3

  /// The hosts of the group in words, such as `12 hosts: alpha, beta, gamma and 9 more`.
  package var heading: String {
    let names = hosts.prefix(Self.named).map(\.rawValue.onOneLine).joined(separator: ", ")
    let rest = count - min(hosts.count, Self.named)
    return "\(counted(count, "host")): \(names)" + (rest > 0 ? " and \(rest) more" : "")
  }
}
