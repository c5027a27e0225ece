import BatonJSON
import BatonModel
import BatonStore

/// The members of a flow as a tree: each one below the one that it comes after. A member that comes after several
/// others stands below the last one of these, and its line names the others.
struct FlowTree {
  private let members: [RequestRecord]
  /// The positions of the members that stand below each member; those below no other have the key `nil`.
  private let below: [RequestID?: [Int]]

  init(_ members: [RequestRecord]) {
    self.members = members
    let known = Set(members.map(\.id))
    below = Dictionary(grouping: members.indices) { position in
      members[position].waitsFor.last { known.contains($0.request) }?.request
    }
  }

  /// One line a member. `->` marks the member with the number `current`.
  func lines(marking current: RequestID?, at now: Timestamp) -> [String] {
    var lines: [String] = []
    var shown: Set<Int> = []

    func add(_ parent: RequestID?, _ depth: Int) {
      for position in below[parent] ?? [] where shown.insert(position).inserted {
        let member = members[position]
        let mark = member.id == current ? "->" : "  "
        lines.append(
          mark + String(repeating: "  ", count: depth) + " \(member.name): \(member.standing(at: now))"
            + others(of: member, besides: parent))
        add(member.id, depth + 1)
      }
    }

    add(nil, 0)
    return lines
  }

  private func others(of member: RequestRecord, besides parent: RequestID?) -> String {
    let others = member.waitsFor.filter { $0.request != parent }.map(\.name)
    return others.isEmpty ? "" : "; also after \(others.joined(separator: ", "))"
  }
}
