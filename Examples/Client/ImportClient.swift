import BatonClient
import Foundation

/// Submits an import to the worker of Examples/Worker, follows it, and ends with 0 if it has succeeded:
/// `example-client IDENTIFIER PAGES`. It finds the coordinator as `baton` does.
@main
enum ImportClient {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 3, let pages = Int(arguments[2]) else {
      print("usage: example-client IDENTIFIER PAGES")
      exit(64)
    }
    let client = try JobClient()
    do {
      let accepted = try await client.submit(arguments[1], payload: ImportOrder(pages: pages))
      print("submitted: \(accepted.request)")
      for try await request in client.watch(accepted.request) {
        print("\(request.state): \(request.completedUnits) of \(request.totalUnits ?? 0)")
      }
      exit(try await client.request(accepted.request).state == .succeeded ? 0 : 1)
    } catch let error as JobClientError {
      // The message says what to do.
      print("\(error.code): \(error)")
      exit(1)
    }
  }
}

struct ImportOrder: Encodable {
  var pages: Int
}
