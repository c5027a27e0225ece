package import BatonModel

/// The hosts of an explanation by their obstacles, for a fleet that is too large to tell each host. The size of this
/// value does not depend on the size of the fleet.
package struct ExplainedGroups: Hashable, Sendable {
  /// One obstacle over all hosts.
  package struct Row: Hashable, Sendable {
    package var code: String
    /// How many hosts have the obstacle.
    package var hosts: Int
    /// On how many hosts it is the only obstacle: so many could take the request if it were gone.
    package var alone: Int

    package init(code: String, hosts: Int, alone: Int) { (self.code, self.hosts, self.alone) = (code, hosts, alone) }
  }

  /// Hosts with the same obstacles.
  package struct Group: Hashable, Sendable {
    package var codes: [String]
    /// The first hosts by their names, at most `mostNames`.
    package var names: [HostName]
    /// How many hosts there are in the group.
    package var count: Int

    package init(codes: [String], names: [HostName], count: Int) {
      (self.codes, self.names, self.count) = (codes, names, count)
    }
  }

  /// How many hosts there are.
  package var hosts: Int
  /// The obstacle first that alone keeps the request off most hosts.
  package var rows: [Row]
  /// The group first that is nearest to taking the request, at most `mostGroups`.
  package var groups: [Group]
  /// How many groups come after these.
  package var moreGroups: Int

  package static let mostNames = 20
  package static let mostGroups = 40

  package init(hosts: Int, rows: [Row] = [], groups: [Group] = [], moreGroups: Int = 0) {
    (self.hosts, self.rows, self.groups, self.moreGroups) = (hosts, rows, groups, moreGroups)
  }
}
