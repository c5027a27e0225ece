import BatonProtobuf
import BatonWire
import SwiftProtobuf

/// One page of an answer that may be larger than one message. The elements keep their order.
struct Pages<Element: SwiftProtobuf.Message> {
  var elements: [Element] = []
  /// The encoded size of the elements, without the few bytes that precede each element.
  var bytes = 0
}

extension Pages {
  /// The size at which a page is closed: large enough that the number of pages costs little, and far below the largest
  /// message.
  static var targetBytes: Int { 1 << 20 }
  /// The most bytes of elements in one message. It is less than the limit of a message, because the message contains
  /// other fields too.
  static var largestMessage: Int { CoordinatorClient.maximumMessageBytes / 8 * 7 }

  /// Cuts the elements into pages. Each element is encoded once to measure it. An element that is larger than a page
  /// gets a page of its own.
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
