package import BatonCoordinator
package import BatonModel
package import BatonStore

/// Looks up what keeps ready requests from starting. It asks once for each requirement class, because all requests of a
/// class wait for the same obstacles.
package struct ObstacleLookup {
  /// The most classes that are looked up for one list: each is a call to the coordinator, and no person reads more
  /// of them.
  package static let limit = 50

  /// More hosts than these are told in groups.
  private static let few = 8

  private var known: [RequirementClass: WaitingReason?] = [:]

  package init() {}

  package mutating func obstacles(
    of records: [RequestRecord], _ api: any OperatorAPI
  ) async throws -> [RequestID: WaitingReason] {
    var found: [RequestID: WaitingReason] = [:]
    for record in records where record.state == .ready {
      let key = RequirementClass(definition: record.definition, priority: record.priority)
      if known[key] == nil, known.count < Self.limit { known[key] = .some(try await Self.reason(record, api)) }
      if let reason = known[key] ?? nil { found[record.id] = reason }
    }
    return found
  }

  private static func reason(_ record: RequestRecord, _ api: any OperatorAPI) async throws -> WaitingReason? {
    do {
      let explanation = try await api.explain(
        record.identifier, number: record.number, groupingBeyond: Self.few)
      return explanation.foremost.map { WaitingReason($0) } ?? explanation.groups?.rows.first.map { WaitingReason($0) }
    } catch OperatorError.notFound {
      return nil  // The request was replaced or pruned after it was listed.
    }
  }
}
