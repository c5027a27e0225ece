import BatonJSON
import BatonModel
import BatonStore

/// A flow as a picture: a box for each member, behind those that it waits for, and lines between.
struct FlowPicture {
  /// Where a member stands: columns from the left, places from the top.
  struct Place: Hashable {
    var column: Int
    var row: Int
  }

  let members: [RequestRecord]
  private(set) var places: [RequestID: Place] = [:]
  /// The member that the page is about; `nil` for the page of the flow.
  private let current: RequestID?

  init(_ members: [RequestRecord], current: RequestID? = nil) {
    (self.members, self.current) = (members, current)
    let columns = Self.columns(members)
    var rows: [Int: Int] = [:]
    // A member stands near those that it waits for, so that few lines cross.
    for column in Set(columns.values).sorted() {
      let here = members.filter { columns[$0.id] == column }.enumerated().sorted { one, other in
        (height(of: one.element), one.offset) < (height(of: other.element), other.offset)
      }
      for (_, member) in here {
        places[member.id] = Place(column: column, row: rows[column, default: 0])
        rows[column, default: 0] += 1
      }
    }
  }

  /// The column of each member: one behind the last one of those that it waits for.
  private static func columns(_ members: [RequestRecord]) -> [RequestID: Int] {
    let known = Set(members.map(\.id))
    var columns: [RequestID: Int] = [:]
    var left = members
    while !left.isEmpty {
      let ready = left.filter { member in
        member.waitsFor.allSatisfy { columns[$0.request] != nil || !known.contains($0.request) }
      }
      // Waits have no circles. What a coordinator of another version says instead is drawn in one column.
      let step = ready.isEmpty ? left : ready
      for member in step {
        columns[member.id] = (member.waitsFor.compactMap { columns[$0.request] }.max() ?? -1) + 1
      }
      let done = Set(step.map(\.id))
      left.removeAll { done.contains($0.id) }
    }
    return columns
  }

  /// Where those are that a member waits for, on average.
  private func height(of member: RequestRecord) -> Double {
    let rows = member.waitsFor.compactMap { places[$0.request]?.row }
    return rows.isEmpty ? 0 : Double(rows.reduce(0, +)) / Double(rows.count)
  }

  // MARK: The picture

  private static let (width, height) = (244.0, 44.0)
  private static let (gap, space, edge) = (84.0, 14.0, 10.0)
  /// How many characters of a name a box has room for.
  private static let letters = 32

  var html: HTML {
    guard !members.isEmpty else { return "" }
    let right = (places.values.map { x(of: $0) }.max() ?? 0) + Self.width + Self.edge
    let bottom = (places.values.map { y(of: $0) }.max() ?? 0) + Self.height + Self.edge
    let words = "The flow as a picture; the table below tells the same"
    return """
      <div class="wide flow" tabindex="0" role="region" aria-label="Picture of the flow">
      <svg class="flow" width="\(right)" height="\(bottom)" viewBox="0 0 \(right) \(bottom)" aria-label="\(words)">
      \(members.map(lines))\(members.map(box))
      </svg></div>
      <p class="legend quiet"><span class="key ended">has ended as asked</span> <span class="key">still to end</span> \
      <span class="key failed">has ended otherwise</span></p>
      """
  }

  private func x(of place: Place) -> Double { Self.edge + Double(place.column) * (Self.width + Self.gap) }
  private func y(of place: Place) -> Double { Self.edge + Double(place.row) * (Self.height + Self.space) }

  private func box(_ member: RequestRecord) -> HTML {
    guard let place = places[member.id] else { return "" }
    let (left, top) = (x(of: place), y(of: place))
    let isHere = member.id == current
    let words = "\(member.identifier) #\(member.number), \(member.state.rawValue)\(FlowWords.waits(member))"
    return """
      <a href="\(Parts.link(of: member.identifier, member.number))" aria-label="\(words)"\(isHere, " aria-current=\"page\"")>\
      <rect class="member \(member.state.rawValue)\(isHere ? " here" : "")" x="\(left)" y="\(top)" \
      width="\(Self.width)" height="\(Self.height)" rx="6"><title>\(words)</title></rect>\
      <text class="name" x="\(left + 10)" y="\(top + 18)">\(Self.short(member))</text>\
      <text class="word \(member.state.rawValue)" x="\(left + 10)" y="\(top + 34)">\(FlowWords.short(member))</text></a>

      """
  }

  /// The name with its end, which tells jobs apart.
  private static func short(_ member: RequestRecord) -> String {
    let (name, number) = (member.identifier.rawValue, " #\(member.number)")
    let room = letters - number.count
    return (name.count > room ? "…" + name.suffix(max(1, room - 1)) : name) + number
  }

  /// The lines from those that a member waits for.
  private func lines(_ member: RequestRecord) -> HTML {
    guard let place = places[member.id] else { return "" }
    return member.waitsFor.map { awaited -> HTML in
      guard let from = places[awaited.request] else { return "" }
      let (x1, y1) = (x(of: from) + Self.width, y(of: from) + Self.height / 2)
      let (x2, y2) = (x(of: place), y(of: place) + Self.height / 2)
      let bend = Self.gap / 2
      let label: HTML =
        awaited.end == .success
        ? ""
        : """
        <text class="end" x="\(x2 - 6)" y="\(y2 - 5)" text-anchor="end">\(awaited.end == .any ? "any end" : "failure")</text>
        """
      return """
        <path class="\(awaited.state.rawValue)" d="M\(x1) \(y1) C\(x1 + bend) \(y1) \(x2 - bend) \(y2) \(x2) \(y2)"/>\(label)
        """
    }.joined()
  }
}

/// What members of a flow wait for, in words.
enum FlowWords {
  /// The rest of a sentence about a member; empty if it waits for no other one.
  static func waits(_ member: RequestRecord) -> String {
    let others = member.waitsFor.map { "\($0.name) \(end($0))" }
    return others.isEmpty ? "" : "; after \(others.joined(separator: ", "))"
  }

  static func end(_ awaited: AwaitedRequest) -> String {
    switch awaited.end {
    case .success: "has succeeded"
    case .failure: "has failed"
    case .any: "has ended"
    }
  }

  /// What became of a wait.
  static func state(_ awaited: AwaitedRequest) -> String {
    switch awaited.state {
    case .open: "still to end"
    case .met: "has ended so"
    case .broken: "has ended otherwise"
    }
  }

  /// The state of a member, and for how many others it still waits.
  static func short(_ member: RequestRecord) -> String {
    let open = member.waitsFor.count { $0.state == .open }
    guard member.state == .scheduled, open > 0 else { return member.state.rawValue }
    return "waits for \(open) of \(member.waitsFor.count)"
  }

  /// What a request waits for, or has waited for, with links.
  static func list(_ member: RequestRecord) -> HTML {
    member.waitsFor.map { awaited -> HTML in
      """
      \(Parts.request(awaited.identifier, awaited.number)) <span class="chip \(look(awaited))">\(end(awaited)): \
      \(state(awaited))</span>
      """
    }.joined(by: "<br>")
  }

  private static func look(_ awaited: AwaitedRequest) -> String {
    switch awaited.state {
    case .open: ""
    case .met: "good"
    case .broken: "bad"
    }
  }
}
