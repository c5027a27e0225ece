/// The order of a flow: several jobs that are submitted together, some of which start after others have ended (`after`
/// of their definitions).
package struct FlowPlan: Hashable, Sendable {
  package struct Member: Hashable, Sendable {
    package var identifier: JobIdentifier
    /// The pattern of the member's definition, whose `*` gives the value of `${wildcard}` in `after`.
    package var pattern: IdentifierPattern
    package var after: [Dependency]
    /// Why requests of the definition cannot be members of a flow; `nil` if they can.
    fileprivate var obstacle: String?

    package init(_ identifier: JobIdentifier, of definition: Definition) {
      (self.identifier, pattern, after) = (identifier, definition.pattern, definition.after ?? [])
      if definition.repeats {
        obstacle = "has a \(definition.schedule == nil ? "'repeat'" : "'schedule'"), so it comes by itself"
      }
      if definition.strategy == .fail { obstacle = "has 'strategy: fail', so it starts at once or not at all" }
    }
  }

  /// That a member waits for another one.
  package struct Wait: Hashable, Sendable {
    /// The position of the member that is waited for.
    package var member: Int
    package var end: Dependency.End

    package init(member: Int, end: Dependency.End) { (self.member, self.end) = (member, end) }
  }

  /// What each member waits for, in the order of the members.
  package let waits: [[Wait]]
  /// The positions of all members, each after those that it waits for; otherwise in the order of the members.
  package let order: [Int]

  /// The largest number of members.
  package static let largest = 256

  package init(_ members: [Member]) throws(FlowProblem) {
    guard members.count <= Self.largest else { throw .tooMany(members.count) }
    var positions: [JobIdentifier: Int] = [:]
    for (position, member) in members.enumerated() {
      guard positions.updateValue(position, forKey: member.identifier) == nil else { throw .twice(member.identifier) }
    }
    var waits: [[Wait]] = []
    for member in members {
      if let obstacle = member.obstacle { throw .notForFlows(member.identifier, obstacle) }
      waits.append(try Self.waits(of: member, among: positions))
    }
    self.waits = waits
    switch Self.order(waits.map { $0.map(\.member) }) {
    case .success(let order): self.order = order
    case .failure(let circle): throw .cycle(circle.positions.map { members[$0].identifier.rawValue })
    }
  }

  private static func waits(
    of member: Member, among positions: [JobIdentifier: Int]
  ) throws(FlowProblem) -> [Wait] {
    var waits: [Wait] = []
    for one in member.after {
      let name = one.identifier.identifier(for: member.identifier, of: member.pattern)
      guard let name, let position = positions[name] else {
        throw .notInFlow(member.identifier, awaited: name?.rawValue ?? one.identifier.text)
      }
      if waits.contains(where: { $0.member == position }) {
        throw .afterTwice(member.identifier, awaited: name.rawValue)
      }
      waits.append(Wait(member: position, end: one.on))
    }
    return waits
  }

  /// Members that wait for each other in a circle. The first one is the last one, too.
  package struct Circle: Error { package var positions: [Int] }

  /// The positions so that each comes after those that it waits for. The order of positions that do not wait for each
  /// other stays.
  /// - Parameter waits: for each position those that it waits for.
  package static func order(_ waits: [[Int]]) -> Result<[Int], Circle> {
    enum Mark { case new, onPath, placed }
    var marks = Array(repeating: Mark.new, count: waits.count)
    var order: [Int] = []
    for start in waits.indices where marks[start] == .new {
      // The positions from `start` on that wait for each other, each with how many of those it waits for are placed. A
      // list in place of recursion, because a file may have a row of many thousand jobs.
      var path = [(position: start, placed: 0)]
      marks[start] = .onPath
      while let last = path.last {
        guard last.placed < waits[last.position].count else {
          marks[last.position] = .placed
          order.append(last.position)
          path.removeLast()
          continue
        }
        path[path.count - 1].placed += 1
        let awaited = waits[last.position][last.placed]
        switch marks[awaited] {
        case .placed: break
        case .new:
          marks[awaited] = .onPath
          path.append((awaited, 0))
        case .onPath:
          let circle = path.map(\.position).drop { $0 != awaited }
          return .failure(Circle(positions: circle + [awaited]))
        }
      }
    }
    return .success(order)
  }
}

/// Why jobs cannot be submitted as one flow.
package enum FlowProblem: Error, Hashable, Sendable, CustomStringConvertible {
  case tooMany(Int)
  case twice(JobIdentifier)
  /// The definition of a member does not go with a flow, with the reason.
  case notForFlows(JobIdentifier, String)
  /// A member waits for a job that is no member.
  case notInFlow(JobIdentifier, awaited: String)
  /// Two entries of a member's `after` name the same job, because one of them has a `${wildcard}`.
  case afterTwice(JobIdentifier, awaited: String)
  /// The identifiers of a circle; the first one is the last one, too.
  case cycle([String])

  package var description: String {
    switch self {
    case .tooMany(let count): "a flow has at most \(FlowPlan.largest) jobs, not \(count)"
    case .twice(let name): "\(name) is in the flow twice; a flow has each job once"
    case .notForFlows(let name, let why): "\(name) \(why), and cannot be in a flow; leave it out"
    case .notInFlow(let name, let awaited):
      "\(name) comes after \(awaited), which is not in the flow; add \(awaited) to the flow, or remove it from 'after'"
    case .afterTwice(let name, let awaited):
      "\(name) comes after \(awaited) by two entries of 'after'; remove one of them"
    case .cycle(let names):
      "the jobs wait for each other in a circle: \(names.joined(separator: " comes after ")); "
        + "remove one of these from 'after'"
    }
  }
}
