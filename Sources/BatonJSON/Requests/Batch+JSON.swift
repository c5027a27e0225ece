package import BatonCoordinator
import BatonModel
package import BatonStore

extension BatchList {
  /// The batches at which a failed request stands; `nil` if it has not failed, or has no items.
  package static func failed(of record: RequestRecord, asking api: any OperatorAPI) async throws -> BatchList? {
    guard record.state == .failed else { return nil }
    do {
      return try await api.batches(record.identifier, number: record.number, shard: nil, batch: nil)
    } catch OperatorError.conflict {
      return nil
    }
  }
}

extension JSONValue {
  /// A request as `show` writes it.
  /// - Parameters:
  ///   - failed: the batches at which it stands, if it has failed.
  ///   - shards: its shards; `nil` if they are not wanted.
  package init(_ details: RequestDetails, failed: BatchList?, shards: [ShardRecord]? = nil) {
    let json = JSONValue(details).adding([
      "failedBatches": .array((failed?.batches ?? []).map { JSONValue($0, of: details.record) })
    ])
    self = shards.map { json.adding(["shardList": .array($0.map { JSONValue($0) })]) } ?? json
  }

  package init(_ batch: BatchItems, of record: RequestRecord) {
    self = [
      "identifier": JSONValue(record.identifier.rawValue), "request": JSONValue(record.number),
      "shard": JSONValue(batch.shard), "batch": JSONValue(batch.batch), "firstItem": JSONValue(batch.range.lowerBound),
      "count": JSONValue(batch.range.count), "totalItems": JSONValue(batch.total),
      "items": .array(batch.items.map { JSONValue($0) }), "lastItem": JSONValue(batch.last),
    ]
  }
}
