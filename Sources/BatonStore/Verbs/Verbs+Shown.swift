package import BatonModel

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// What running launches have reported since their last checkpoint, for operators who ask another coordinator.
extension Verbs {
  /// Keeps the updates of launches that run, each in place of the one before. An update without content takes it away.
  package func noteUpdates(_ updates: [LaunchUpdate]) throws {
    try need(updates.map { .request($0.launch.request) })
    for update in updates.sorted(by: { $0.launch < $1.launch }) {
      try prepare(.noteUpdate).run(try update.json, update.launch.request.rawValue, update.launch.number)
    }
  }

  /// The updates that were noted of the running launches of requests.
  package func updates(of requests: [RequestID]) throws -> [LaunchUpdate] {
    try requests.compactMap { id in
      let row = try prepare(.shownUpdate).first(id.rawValue) { (number: $0.int(0), json: $0.text(1)) }
      return row.flatMap { LaunchUpdate(LaunchKey(request: id, number: $0.number), json: $0.json) }
    }
  }
}

extension LaunchUpdate {
  private struct Content: Codable {
    var title: String?
    var subtitle: String?
    var completed: Int64?
    var total: Int64?
  }

  /// `nil` if the update says nothing.
  fileprivate var json: String? {
    get throws {
      if title == nil, subtitle == nil, completedUnits == nil, totalUnits == nil { return nil }
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      let content = Content(title: title, subtitle: subtitle, completed: completedUnits, total: totalUnits)
      return String(decoding: try encoder.encode(content), as: UTF8.self)
    }
  }

  /// `nil` if another version wrote it in a way that this one cannot read.
  fileprivate init?(_ launch: LaunchKey, json: String) {
    guard let content = try? JSONDecoder().decode(Content.self, from: Data(json.utf8)) else { return nil }
    self.init(
      launch: launch, title: content.title, subtitle: content.subtitle, completedUnits: content.completed,
      totalUnits: content.total)
  }
}

extension Query {
  static let noteUpdate = Query(
    "UPDATE launch SET shown = ? WHERE request = ? AND number = ? AND ended_at IS NULL")
  static let shownUpdate = Query(
    "SELECT number, shown FROM launch WHERE request = ? AND ended_at IS NULL AND shown IS NOT NULL")
}
