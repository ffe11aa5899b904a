package kubesim

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// ticket is what an upload token says.
type ticket struct {
	Expires   int64             `json:"exp"`
	Issued    int64             `json:"iat"`
	Issuer    string            `json:"iss"`
	Operation string            `json:"operation"`
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Resource  map[string]string `json:"resource"`
	Serial    int64             `json:"jti"` // counts issued tokens, so that all those before a moment can be ended
}

var encoding = base64.RawURLEncoding

func (s *Server) signToken(ns, claim string) string {
	now := s.cfg.Now()
	t := ticket{
		Expires: now.Add(s.cfg.TokenLife).UnixMilli(), Issued: now.UnixMilli(), Issuer: "cdi-apiserver", Operation: "Upload", Namespace: ns, Name: claim,
		Resource: map[string]string{"group": "", "version": "v1", "resource": "persistentvolumeclaims"}, Serial: s.tokenSerial.Add(1),
	}
	payload, _ := json.Marshal(t) // a struct of plain fields
	head := encoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encoding.EncodeToString(payload)
	return head + "." + encoding.EncodeToString(s.mac(head))
}

func (s *Server) mac(text string) []byte {
	m := hmac.New(sha256.New, []byte(s.tokenKey))
	m.Write([]byte(text))
	return m.Sum(nil)
}

// checkToken says what an upload token is good for. As the real upload proxy does, it lets one pass for a thirtieth of its
// life beyond its end: ten seconds after five minutes.
func (s *Server) checkToken(token string) (ticket, error) {
	i := strings.LastIndexByte(token, '.')
	if i < 0 {
		return ticket{}, errors.New("token is not a JWT")
	}
	sum, err := encoding.DecodeString(token[i+1:])
	if err != nil || !hmac.Equal(sum, s.mac(token[:i])) {
		return ticket{}, errors.New("token signature does not verify")
	}
	_, payload, _ := strings.Cut(token[:i], ".")
	raw, err := encoding.DecodeString(payload)
	if err != nil {
		return ticket{}, errors.New("token payload is not base64")
	}
	var t ticket
	if err := json.Unmarshal(raw, &t); err != nil {
		return ticket{}, errors.New("token payload is not JSON")
	}
	if end := time.UnixMilli(t.Expires).Add(s.cfg.TokenLife / 30); !s.cfg.Now().Before(end) || t.Serial <= s.tokenCut.Load() {
		return ticket{}, errors.New("token is expired")
	}
	return t, nil
}

// ExpireTokens ends every upload token that was issued so far.
func (s *Server) ExpireTokens() { s.tokenCut.Store(s.tokenSerial.Load()) }
