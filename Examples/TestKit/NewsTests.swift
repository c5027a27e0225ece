import BatonTestKit
import XCTest

/// A refresh that returns what it found.
let news: RefreshHandler = { task in
  task.launch > 1 ? .newData : .noData
}

final class NewsTests: XCTestCase {
  func testNothingNewIsSaid() async throws {
    let request = TestRequest("com.example.news", kind: .refresh)
    let launch = try await request.launchRefresh(news)
    XCTAssertEqual(launch.result, .noData)
    XCTAssertEqual(request.completion, .succeeded)
  }
}
