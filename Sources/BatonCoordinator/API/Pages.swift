import BatonProtobuf
import BatonWire
import SwiftProtobuf

/// One page of an answer that may be larger than one message. The elements keep their order.
struct Pages<Element: SwiftProtobuf.Message> {
  var elements: [Element] = []
  /// The encoded size of the elements, with the bytes that precede each element.
  var bytes = 0
}

extension Pages {
  /// The size at which a page is closed: large enough that the number of pages costs little, and small enough that a
  /// message with one page and a request is not larger than 1 MiB.
  static var targetBytes: Int { 896 << 10 }
  /// The most bytes that precede an element in a message: the number of its field, and its length.
  static var overhead: Int { 6 }
  /// The most bytes of elements in the one message for a client that does not know pages.
  static var largestMessage: Int { targetBytes }

  /// Cuts the elements into pages. An element that is larger than a page gets a page of its own.
  /// - Parameter size: the encoded size of an element, or somewhat more; without it each element is encoded once to
  ///   measure it.
  static func of(
    _ elements: some Sequence<Element>, size: @escaping (Element) throws -> Int = Self.encodedSize
  ) throws -> [Pages] {
    var cut = PageCut(elements, size: size)
    var pages: [Pages] = []
    while let page = try cut.next() { pages.append(page) }
    return pages
  }

  static func encodedSize(of element: Element) throws -> Int {
    let bytes: [UInt8] = try element.serializedBytes()
    return bytes.count
  }
}

/// Cuts elements into pages, each of which is made when it is asked for: the first page costs no more than itself.
struct PageCut<Elements: Sequence> where Elements.Element: SwiftProtobuf.Message {
  typealias Element = Elements.Element

  private var elements: Elements.Iterator
  private let size: (Element) throws -> Int
  /// The element that did not fit into the page before.
  private var waiting: (element: Element, bytes: Int)?
  private var hasBegun = false

  init(_ elements: Elements, size: @escaping (Element) throws -> Int = Pages<Element>.encodedSize) {
    (self.elements, self.size) = (elements.makeIterator(), size)
  }

  /// Whether there is a page after those that were made.
  mutating func hasMore() throws -> Bool {
    if !hasBegun { try advance() }
    return waiting != nil
  }

  /// The next page; nil after the last one.
  mutating func next() throws -> Pages<Element>? {
    guard try hasMore() else { return nil }
    var page = Pages<Element>()
    while let (element, bytes) = waiting, page.elements.isEmpty || page.bytes + bytes <= Pages<Element>.targetBytes {
      page.elements.append(element)
      page.bytes += bytes
      try advance()
    }
    return page
  }

  private mutating func advance() throws {
    hasBegun = true
    waiting = try elements.next().map { ($0, try size($0) + Pages<Element>.overhead) }
  }
}
