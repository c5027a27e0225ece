package import BatonModel
package import BatonProtobuf
import SwiftProtobuf

/// Packs messages into frames and unpacks them. A frame contains as many messages as a receiver accepts
/// (`WireLimits.frame`) and about 1 MiB, so that a busy stream sends few frames.
package enum Framing {
  private static let targetBytes = 1 << 20

  package static func frames(_ messages: [WorkerMessage]) -> [Baton_V1_WorkerFrame] {
    chunks(messages, bytes: \.approximateBytes).map { chunk in .with { $0.messages = chunk.map(\.proto) } }
  }

  /// The frames for messages to a worker. A receipt is not put among the messages but into a field of its frame.
  package static func frames(_ messages: [CoordinatorMessage]) throws -> [Baton_V1_CoordinatorFrame] {
    try chunks(messages, bytes: \.approximateBytes).map { chunk in
      try .with { frame in
        frame.messages = try chunk.compactMap { try $0.proto() }
        for case .receipt(let receipt) in chunk { frame.receipt = receipt.proto }
      }
    }
  }

  /// The messages of a frame. The receipt comes first, because everything that the messages acknowledge is already
  /// covered by it.
  package static func messages(_ frame: Baton_V1_CoordinatorFrame) throws -> [CoordinatorMessage] {
    (frame.hasReceipt ? [.receipt(Receipt(frame.receipt))] : []) + (try frame.messages.map(CoordinatorMessage.init))
  }

  /// Divides the messages into chunks for frames. A message larger than a frame is a chunk by itself.
  private static func chunks<Message>(_ messages: [Message], bytes: (Message) -> Int) -> [ArraySlice<Message>] {
    var chunks: [ArraySlice<Message>] = []
    var (start, size) = (0, 0)
    for (index, message) in messages.enumerated() {
      let added = bytes(message)
      if index > start, size + added > targetBytes || index - start >= WireLimits.frame.most {
        chunks.append(messages[start..<index])
        (start, size) = (index, 0)
      }
      size += added
    }
    if start < messages.count { chunks.append(messages[start...]) }
    return chunks
  }
}

extension WorkerMessage {
  fileprivate var approximateBytes: Int {
    switch self {
    case .checkpoint(let checkpoint):
      64 + (checkpoint.cursor?.count ?? 0) + checkpoint.transfers.count * 1024 + (checkpoint.result?.json.count ?? 0)
    case .items(let page): page.approximateBytes
    case .output(let chunk): 32 + chunk.bytes.count
    case .hello(let hello): 1024 + hello.running.count * 24
    case .ended(let ending): if case .failed(let text) = ending.outcome { 64 + text.utf8.count } else { 64 }
    case .transfers(let report): 64 + report.statuses.count * 1024
    case .submission(_, let submission): 1024 + (submission.payload?.count ?? 0)
    case .heartbeat, .conditions, .itemsWanted, .update, .expiring, .overran, .draining: 256
    }
  }
}

extension CoordinatorMessage {
  fileprivate var approximateBytes: Int {
    switch self {
    case .launch(let assignment):
      256 + (assignment.payload?.count ?? 0) + (assignment.progress.cursor?.count ?? 0)
        + assignment.transfers.count * 1024 + assignment.inputs.reduce(0) { $0 + 256 + $1.resultBytes }
    case .items(let page): page.approximateBytes
    case .definition, .unusableDefinition: 64 << 10
    case .transfers(let orders): 64 + orders.count * 1024
    case .submitted: 4096
    case .welcome, .refused, .heartbeatAnswered, .itemsCommitted, .committed, .expire, .withdraw, .refuse,
      .endingCommitted, .receipt, .simulate:
      64
    }
  }
}

extension ItemPage {
  fileprivate var approximateBytes: Int { items.reduce(64) { $0 + $1.utf8.count + 4 } }
}
