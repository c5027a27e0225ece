import BatonModel
import BatonProtobuf
import BatonStore
import SwiftProtobuf

/// The part of a list that fits into one message: it ends early if its requests have long texts, payloads or
/// checkpoints.
struct RequestPage {
  private(set) var requests: [Baton_V1_Request] = []
  private(set) var hasMore = false

  /// How many requests are read at once. Requests that do not fit are read in vain, so this is less than a page.
  private static let step = 50

  init(of api: any OperatorAPI, _ filter: RequestFilter, after: RequestID?, limit: Int) async throws {
    var (after, bytes) = (after, 0)
    while requests.count < limit {
      let step = min(Self.step, limit - requests.count)
      let records = try await api.requests(filter, after: after, limit: step)
      for record in records {
        let proto = record.proto
        bytes += try Pages.encodedSize(of: proto) + Pages<Baton_V1_Request>.overhead
        if !requests.isEmpty, bytes > Pages<Baton_V1_Request>.targetBytes {
          hasMore = true
          return
        }
        requests.append(proto)
      }
      guard records.count == step, let last = records.last else { return }
      after = last.id
    }
    hasMore = true
  }

  var proto: Baton_V1_ListReply {
    .with { ($0.requests, $0.hasMore_p) = (requests, hasMore) }
  }
}
