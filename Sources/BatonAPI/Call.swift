package import BatonCoordinator
package import BatonModel
import BatonWire
package import HTTPTypes

/// A call that was let in, with everything that its route reads of it.
package struct Call: Sendable {
  /// Who calls; `nil` for a route that everybody may call.
  package let permitted: HTTPCall?
  package let parameters: [String: String]
  package let query: Query
  package let headers: HTTPFields
  /// Where the call comes from, as gRPC writes it.
  package let peer: String
  /// Reads the body, at most so many bytes of it.
  package let body: @Sendable (_ most: Int) async throws -> [UInt8]
  package let calls: HTTPCalls
  package let waits: Waits

  package var now: Timestamp { calls.now() }

  /// Makes calls as the caller.
  package func run<Result: Sendable>(
    _ body: @Sendable (any OperatorAPI) async throws -> Result
  ) async throws -> Result {
    guard let permitted else { preconditionFailure("a route for everybody makes no calls") }
    return try await permitted.run(body)
  }

  /// Makes calls that may last, at most until the caller's credential ends.
  package func runWhileValid<Result: Sendable>(
    _ body: @escaping @Sendable (any OperatorAPI) async throws -> Result
  ) async throws -> Result {
    guard let permitted else { preconditionFailure("a route for everybody makes no calls") }
    return try await permitted.runWhileValid(body)
  }

  // MARK: The path

  package func parameter(_ name: String) -> String { parameters[name] ?? "" }

  package var identifier: JobIdentifier {
    get throws(HTTPFailure) {
      guard let identifier = JobIdentifier(parameter("identifier")) else {
        throw .invalid("'\(parameter("identifier").escapedForMessage)' is not an identifier")
      }
      return identifier
    }
  }

  /// The number of the request; `nil` if the path names none.
  package var number: Int? {
    get throws(HTTPFailure) {
      guard let text = parameters["number"] else { return nil }
      guard let number = Int(text), (1...Int(Int32.max)).contains(number) else {
        throw .invalid("'\(text.escapedForMessage)' is not the number of a request, which is 1 or more")
      }
      return number
    }
  }

  /// The number of a flow.
  package var flow: RequestID {
    get throws(HTTPFailure) {
      guard let number = Int64(parameter("flow")), number >= 1 else {
        throw .invalid("'\(parameter("flow").escapedForMessage)' is not the number of a flow, which is 1 or more")
      }
      return RequestID(number)
    }
  }

  package var receiver: ReceiverName {
    get throws(HTTPFailure) {
      guard let name = ReceiverName(parameter("receiver")) else {
        throw .invalid(
          "'\(parameter("receiver").escapedForMessage)' cannot be a receiver's name: it has \(ReceiverName.rule)")
      }
      return name
    }
  }

  package var pattern: IdentifierPattern {
    get throws(HTTPFailure) { try Self.pattern(parameter("pattern")) }
  }

  package static func pattern(_ text: String) throws(HTTPFailure) -> IdentifierPattern {
    guard let pattern = IdentifierPattern(text) else {
      throw .invalid("'\(text.escapedForMessage)' is neither an identifier nor a pattern such as 'com.example.*'")
    }
    return pattern
  }

  package var host: HostName {
    get throws(HTTPFailure) { try Self.host(parameter("host")) }
  }

  package static func host(_ text: String) throws(HTTPFailure) -> HostName {
    let host = HostName(text)
    guard host.isWellFormed else {
      throw .invalid("'\(text.escapedForMessage)' cannot be a host's name: it has \(HostName.rule)")
    }
    return host
  }

  /// A name that has no rule but its length: who acted, on what.
  package static func name(_ text: String) throws(HTTPFailure) -> String {
    do { try WireLimits.hostArgument.check(name: text) } catch { throw .invalid(error.message) }
    guard !text.isEmpty else { throw .invalid("a name is not empty") }
    return text
  }

  // MARK: Headers

  package func header(_ name: String) -> String? { HTTPField.Name(name).flatMap { headers[$0] } }

  /// The id of the submission.
  package var idempotencyKey: String? {
    get throws(HTTPFailure) {
      guard let key = header("Idempotency-Key") else { return nil }
      return try Self.submissionID(key, "an Idempotency-Key")
    }
  }

  /// Checks the id of a submission.
  /// - Parameter what: what the text is, for the message.
  package static func submissionID(_ text: String, _ what: String) throws(HTTPFailure) -> String {
    let visible = UInt8(ascii: " ")...UInt8(ascii: "~")
    guard (1...WireLimits.submissionID.most).contains(text.utf8.count), text.utf8.allSatisfy(visible.contains),
      !text.hasPrefix(" "), !text.hasSuffix(" ")
    else {
      throw .invalid(
        "\(what) has 1 to \(WireLimits.submissionID.most) visible characters of ASCII, and no space at an end")
    }
    return text
  }

  /// The principal that the caller claims to be. It counts only for the coordinator's own user.
  package var claimedPrincipal: String { header("Baton-Principal") ?? "http" }

  /// The type of the body without its parameters, in lower case.
  package var contentType: String? {
    headers[.contentType].map { type in
      String(type.prefix { $0 != ";" }).filter { !$0.isWhitespace }.lowercased()
    }
  }

  // MARK: The body

  /// The largest body of JSON, in bytes.
  package static let largestBody = CoordinatorServer.largestBody
  /// The largest body of a call that changes one thing.
  package static let largestSmallBody = 64 << 10

  /// The body as JSON, and its bytes.
  /// - Throws: an `HTTPFailure`: 413, 415, or 400 with the place of the mistake.
  func json(most: Int) async throws -> (JSONTree, bytes: [UInt8]) {
    try checkType(["application/json"])
    let bytes = try await body(most)
    return (try Self.json(bytes), bytes)
  }

  /// The body as an object; an object without members if there is no body.
  func object() async throws -> BodyObject {
    let bytes = try await body(Self.largestSmallBody)
    guard !bytes.isEmpty else { return try BodyObject(JSONTree(value: .object([]), range: 0..<0), "the body") }
    try checkType(["application/json"])
    return try BodyObject(try Self.json(bytes), "the body")
  }

  /// Reads a body that has no keys.
  func nothing() async throws { try await object().finish() }

  package func checkType(_ types: [String]) throws(HTTPFailure) {
    guard let type = contentType, types.contains(type) else {
      throw HTTPFailure(
        415, "invalid",
        "the body has to be \(types.joined(separator: " or ")), as the header Content-Type says"
          + (contentType.map { ", not '\($0.escapedForMessage)'" } ?? ""))
    }
  }

  /// Checks that a text is JSON.
  package static func checkJSON(_ bytes: [UInt8]) throws(HTTPFailure) { _ = try json(bytes) }

  static func json(_ bytes: [UInt8]) throws(HTTPFailure) -> JSONTree {
    do throws(JSONReader.Mistake) { return try JSONReader.read(bytes) } catch {
      let before = bytes.prefix(error.offset)
      let line = before.count { $0 == UInt8(ascii: "\n") } + 1
      let column = before.reversed().prefix { $0 != UInt8(ascii: "\n") }.count + 1
      throw .invalid("the body is not JSON: \(error.message.escapedForMessage), at line \(line), column \(column)")
    }
  }
}
