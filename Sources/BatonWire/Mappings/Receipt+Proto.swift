import BatonModel
import BatonProtobuf
import SwiftProtobuf

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Receipt {
  var proto: Baton_V1_Receipt {
    .with {
      $0.store = store
      $0.sequence = sequence
      $0.tenure = tenure
      $0.mac = Data(seal)
    }
  }

  init(_ proto: Baton_V1_Receipt) {
    self.init(store: proto.store, tenure: proto.tenure, sequence: proto.sequence, seal: Array(proto.mac))
  }
}
