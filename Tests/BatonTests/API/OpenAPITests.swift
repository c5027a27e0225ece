import Foundation
import HTTPTypes
import Testing

@testable import BatonAPI

/// The description of the HTTP API, `Documentation/openapi.yaml`. `Scripts/check-api` checks what it says of answers.
@Suite("HTTP API: its description") struct OpenAPITests {
  private static var file: String {
    get throws { try String(contentsOfFile: Golden.root + "/Documentation/openapi.yaml", encoding: .utf8) }
  }

  @Test func `the program contains the file`() throws {
    let file = try Self.file
    #expect(String(decoding: OpenAPI.text, as: UTF8.self) == file)
  }

  @Test func `it is served to everybody`() async throws {
    let told = await APIWorld().ask("GET /v1/openapi.yaml", token: String?.none)
    let file = try Self.file
    #expect(told.status == 200 && told.text == file && told.header("ETag") != nil)
  }

  /// `get /v1/requests limit state`: what the file says of each route.
  private static var described: Set<String> {
    get throws {
      var (path, method, found): (String, String, [String: Set<String>]) = ("", "", [:])
      for line in try file.split(separator: "\n").prefix(while: { $0 != "components:" }) {
        if let match = line.wholeMatch(of: #/  (/v1[^:]*):/#) { (path, method) = (String(match.1), "") }
        if let match = line.wholeMatch(of: #/    (get|put|post|delete|patch):/#) {
          method = "\(match.1) \(path)"
          found[method] = []
        }
        if let match = line.prefixMatch(of: #/        - \{name: (\w+), in: query/#) {
          found[method]?.insert(String(match.1))
        }
        if line.hasSuffix("parameters/Since\"") { found[method]?.insert("since") }
      }
      return Set(found.map { ([$0.key] + $0.value.sorted()).joined(separator: " ") })
    }
  }

  @Test func `every route stands in it, with its parameters, and no other`() throws {
    let served = Route.all.map { route in
      (["\(route.method.rawValue.lowercased()) \(route.path)"] + route.query.sorted()).joined(separator: " ")
    }
    #expect(Set(served).count == served.count && served.count > 40)
    let described = try Self.described
    #expect(described.subtracting(served) == [], "described, and not served")
    #expect(Set(served).subtracting(described) == [], "served, and not described")
  }
}
