import BatonProtobuf
import BatonWire
import SwiftProtobuf

/// Elements of an answer that may be larger than one message, cut into pages in their order.
struct Pages<Element: SwiftProtobuf.Message> {
  var elements: [Element] = []
  /// As they are sent, without the few bytes before each.
  var bytes = 0
}

extension Pages {
  /// A page is closed once it has so many bytes: large enough to cost nothing, and far from the largest message.
  static var targetBytes: Int { 1 << 20 }
  /// Less than a message may have, because the elements are not alone in it.
  static var largestMessage: Int { CoordinatorClient.maximumMessageBytes / 8 * 7 }

  /// Each element is measured once. One that is larger than a page has a page of its own.
  static func of(_ elements: some Sequence<Element>) throws -> [Pages] {
    var pages: [Pages] = []
    var last = Pages()
    for element in elements {
      let bytes: [UInt8] = try element.serializedBytes()
      let size = bytes.count
      if !last.elements.isEmpty, last.bytes + size > targetBytes {
        pages.append(last)
        last = Pages()
      }
      last.elements.append(element)
      last.bytes += size
    }
    return last.elements.isEmpty ? pages : pages + [last]
  }
}
