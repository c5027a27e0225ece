import BatonCoordinator
import BatonJSON
import CBatonAPI
import HTTPTypes

extension Route {
  /// Every route. `Documentation/openapi.yaml` has the same ones.
  static let all: [Route] = [
    fleet, definitions, schedules, requests, requestChanges, hosts, hostChanges, pokes, changes, description,
  ].flatMap { $0 }

  /// The description of the API itself, which names nothing of the fleet.
  private static let description = [
    Route(.get, "/v1/openapi.yaml", .anyone) { _ in
      Answer(body: .bytes(OpenAPI.text, type: "application/yaml"))
    }
  ]
}

/// The description of the API that the program contains.
enum OpenAPI {
  static let text = Array(UnsafeBufferPointer(start: baton_openapi_text(), count: Int(baton_openapi_size())))
}

/// A list of which a caller has asked for a part.
struct Page: Sendable {
  /// The largest page, in bytes: it also ends when it has so many.
  static let largest = 4 << 20
  static let limits = 1...1000

  private(set) var elements: [JSONValue] = []
  private var bytes = 0
  /// What the next page comes after; `nil` if this is the last page.
  private(set) var next: JSONValue = .null

  /// - Parameters:
  ///   - elements: the elements of the list, in their order; at most as many as are looked at.
  ///   - limit: the most elements.
  ///   - json: the object of an element.
  ///   - position: what names the element, for the next page.
  init<Element>(
    _ elements: [Element], limit: Int, json: (Element) -> JSONValue, position: (Element) -> JSONValue
  ) {
    for (index, element) in elements.enumerated() {
      let object = json(element)
      bytes += object.compact.utf8.count + 1
      if index == limit || index > 0 && bytes > Self.largest {
        next = position(elements[index - 1])
        return
      }
      self.elements.append(object)
    }
  }

  /// Says that there are more elements after the last one that was looked at.
  mutating func goOn(after last: JSONValue?) { if next == .null { next = last ?? .null } }

  /// The page as an object with the list under `name`.
  func json(_ name: String) -> JSONValue {
    .object([.init(key: name, value: .array(elements)), .init(key: "next", value: next)])
  }
}

extension JSONValue {
  /// The object with only these members.
  func keeping(_ keys: Set<String>) -> JSONValue {
    guard case .object(let members) = self else { return self }
    return .object(members.filter { keys.contains($0.key) })
  }
}
