import BatonModel
import BatonProtobuf
import BatonStore
import SwiftProtobuf

/// The part of a list that fits into one message: it ends early if its requests have long texts, payloads or
/// checkpoints.
struct RequestPage {
  private(set) var requests: [Baton_V1_Request] = []
  /// Where the next page begins; `nil` if no page follows.
  private(set) var next: RequestID?

  /// How many requests are read at once. Requests that do not fit are read in vain, so this is less than a page.
  private static let step = 50

  init(of api: any OperatorAPI, _ filter: RequestFilter, after: RequestID?, limit: Int) async throws {
    next = after
    var bytes = 0
    repeat {
      // A narrowed list looks at many requests for each page, so it gets one page.
      let step = filter.isNarrowed ? limit : min(Self.step, limit - requests.count)
      let page = try await api.page(of: filter, after: next, limit: step)
      for record in page.records {
        let proto = record.proto
        bytes += try Pages.encodedSize(of: proto) + Pages<Baton_V1_Request>.overhead
        if !requests.isEmpty, bytes > Pages<Baton_V1_Request>.targetBytes { return }
        requests.append(proto)
        next = record.id
      }
      next = page.next
    } while next != nil && requests.count < limit && !filter.isNarrowed
  }

  var proto: Baton_V1_ListReply {
    .with {
      ($0.requests, $0.hasMore_p) = (requests, next != nil)
      if let next { $0.next = next.rawValue }
    }
  }
}
