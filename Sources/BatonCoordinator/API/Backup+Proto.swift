import BatonModel
import BatonProtobuf
import BatonStore
import BatonWire
import SwiftProtobuf

extension BackupProgress {
  var proto: Baton_V1_BackupReply {
    .with {
      $0.pages = Int64(pages)
      $0.totalPages = Int64(totalPages)
    }
  }

  init(_ proto: Baton_V1_BackupReply) {
    self.init(pages: Int(clamping: proto.pages), totalPages: Int(clamping: proto.totalPages))
  }
}

extension BackupSummary {
  var proto: Baton_V1_BackupSummary {
    .with {
      $0.path = path
      $0.bytes = Int64(bytes)
      $0.receipt.store = receipt.store
      $0.receipt.sequence = receipt.sequence
      $0.receipt.tenure = receipt.tenure
    }
  }

  init(_ proto: Baton_V1_BackupSummary) {
    self.init(
      path: proto.path, bytes: Int(clamping: proto.bytes),
      receipt: Receipt(store: proto.receipt.store, tenure: proto.receipt.tenure, sequence: proto.receipt.sequence))
  }
}

extension RequestChoice {
  var proto: Baton_V1_RequestChoice {
    switch self {
    case .current: .current
    case .ran: .ran
    case .ranIfRepeating: .ranIfRepeating
    }
  }

  /// A choice that this version does not know counts as `current`.
  init(_ proto: Baton_V1_RequestChoice) {
    switch proto {
    case .current, .UNRECOGNIZED: self = .current
    case .ran: self = .ran
    case .ranIfRepeating: self = .ranIfRepeating
    }
  }
}
