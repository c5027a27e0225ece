import BatonModel
import Testing

@Suite struct WebAddressTests {
  @Test(arguments: [
    ("http://a", "http://a/"), ("HTTPS://Example.com:443/x?y=1#z", "https://example.com/x?y=1"),
    ("http://[::1]:8080/a", "http://[::1]:8080/a"), ("http://a:80?q", "http://a/?q"), ("http://a:/b", "http://a/b"),
  ]) func `an address is read`(text: String, expected: String) {
    #expect(WebAddress(text)?.description == expected)
  }

  @Test(arguments: [
    "", "a", "ftp://a/", "http://", "http:///x", "http://u:p@a/", "http://a:0/", "http://a:99999/", "http://a b/",
    "http://a/\r\nX: y", "http://a\u{e9}/", "http://[/", "file:///etc/passwd", "http://a:b/",
  ]) func `what is no address is refused`(text: String) {
    #expect(WebAddress(text) == nil)
  }

  @Test(arguments: [
    ("/z", "http://a:1/z"), ("z", "http://a:1/x/z"), ("../z", "http://a:1/z"), ("?q", "http://a:1/x/y?q"),
    ("//b/z", "http://b/z"), ("https://c", "https://c/"), ("./z?a=..", "http://a:1/x/z?a=.."),
    ("z#f", "http://a:1/x/z"),
    ("../../../z/.", "http://a:1/z/"),
  ]) func `a location is followed`(location: String, expected: String) {
    #expect(WebAddress("http://a:1/x/y?p")?.following(location)?.description == expected)
  }

  @Test(arguments: ["mailto:x", "http://u@b/", "javascript:1", "file:///etc"])
  func `a location that is no address is not followed`(location: String) {
    #expect(WebAddress("http://a/")?.following(location) == nil)
  }
}
