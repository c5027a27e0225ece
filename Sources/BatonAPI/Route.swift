import BatonCoordinator
package import HTTPTypes

/// One thing that the API does, at one path with one method of HTTP.
package struct Route: Sendable {
  /// Who may call it.
  package enum Access: Hashable, Sendable {
    /// Everybody.
    case anyone
    /// Who may call this method of gRPC.
    case method(String)
  }

  var method: HTTPRequest.Method
  /// The path as `Documentation/openapi.yaml` has it, such as `/v1/requests/{identifier}`.
  var path: String
  var access: Access
  /// The method of gRPC whose callers may call it with `dryRun=true`, which changes nothing; `nil` if there is no such
  /// parameter.
  var rehearsal: String?
  /// The query parameters.
  var query: [String]
  /// How often one parameter may be given.
  var repetitions: Int
  /// Whether the call may last, so that it ends when its caller goes away.
  var waits: Bool
  var answer: @Sendable (Call) async throws -> Answer
  private let segments: [Substring]

  package init(
    _ method: HTTPRequest.Method, _ path: String, _ access: Access, query: [String] = [], rehearsal: String? = nil,
    repetitions: Int = Query.usualRepetitions, waits: Bool = false,
    _ answer: @escaping @Sendable (Call) async throws -> Answer
  ) {
    (self.method, self.path, self.access, self.query, self.waits) = (method, path, access, query, waits)
    (self.rehearsal, self.repetitions, self.answer) = (rehearsal, repetitions, answer)
    segments = path.split(separator: "/")
  }

  /// Whether the caller of a request of this method means this route. `HEAD` asks for what `GET` answers.
  func serves(_ method: HTTPRequest.Method) -> Bool { method == self.method || method == .head && self.method == .get }

  /// The values of the parameters in a path; `nil` if the path is another one.
  /// - Parameter path: the segments of the path, decoded.
  func match(_ path: [String]) -> [String: String]? {
    guard path.count == segments.count else { return nil }
    var values: [String: String] = [:]
    for (segment, text) in zip(segments, path) {
      if segment.hasPrefix("{") {
        values[String(segment.dropFirst().dropLast())] = text
      } else if segment != text {
        return nil
      }
    }
    return values
  }

  /// How many segments of the path are fixed: of two routes that match, the one with more of them is meant.
  fileprivate var fixed: Int { segments.count { !$0.hasPrefix("{") } }
}

extension [Route] {
  /// The routes at the path that is meant, with the values of its parameters; empty if there is no such path.
  func at(_ path: [String]) -> [(route: Route, values: [String: String])] {
    let found = compactMap { route in route.match(path).map { (route: route, values: $0) } }
    let most = found.map(\.route.fixed).max()
    return found.filter { $0.route.fixed == most }
  }
}
